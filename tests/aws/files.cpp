#include <quern/aws/config/files.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <filesystem>

namespace fs = std::filesystem;
using quern::aws::real_files;

namespace {

std::string place(char const* name)
{
    auto const* const folder = std::getenv("QUERN_TMP_DIR");
    return ((folder ? fs::path(folder) : fs::temp_directory_path()) / name).string();
}

} // namespace

BOOST_AUTO_TEST_SUITE(files)

BOOST_AUTO_TEST_CASE(a_file_that_is_replaced_is_read_back_and_belongs_to_its_owner_alone)
{
    auto const path = place("replaced");
    BOOST_TEST_REQUIRE(real_files().replace(path, "one").has_value());
    BOOST_TEST_REQUIRE(real_files().replace(path, std::string(100'000, 'x')).has_value());
    BOOST_TEST(real_files().read(path).value() == std::string(100'000, 'x'));
    auto const others = fs::perms::group_all | fs::perms::others_all;
    BOOST_TEST((fs::status(path).permissions() & others) == fs::perms::none);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_read_says_why_and_where)
{
    auto const absent = real_files().read(place("absent"));
    BOOST_REQUIRE(!absent);
    BOOST_TEST(absent.error().code == std::errc::no_such_file_or_directory);
    BOOST_TEST(absent.error().message.ends_with("absent"));
    BOOST_TEST(real_files().read("/").error().code == std::errc::is_a_directory);
    BOOST_TEST(real_files().read("/dev/zero").error().code == std::errc::file_too_large);
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_replaced_leaves_nothing_behind)
{
    BOOST_TEST(!real_files().replace(place("no folder/file"), "x"));
    auto const folder = place("folder");
    fs::create_directories(folder + "/full");
    BOOST_TEST(!real_files().replace(folder, "x"));
    for (auto const& entry : fs::directory_iterator(fs::path(folder).parent_path()))
        BOOST_TEST(entry.path().filename().string().find("folder.") == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
