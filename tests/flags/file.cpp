#include <quern/flags/file.hpp>
#include <quern/sim/virtual_clock.hpp>

#include "support/paper_files.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdlib>

using namespace quern;
using namespace quern::test;

namespace {

result<policy::flag_reading> reading_of(policy::flag_source& flag)
{
    boost::asio::io_context io;
    result<policy::flag_reading> out = failure(errc::stopped, "it never came");
    boost::asio::co_spawn(
        io, flag.read(), [&](std::exception_ptr, result<policy::flag_reading> got) { out = std::move(got); });
    io.run();
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(flags_in_files)

BOOST_AUTO_TEST_CASE(the_file_is_read_anew_each_time)
{
    paper_files disk;
    auto const flag = flags::in_file("/run/halt", disk);
    BOOST_TEST(flag->name() == "file:/run/halt");
    disk.text["/run/halt"] = "open\n";
    BOOST_TEST(reading_of(*flag).value().text.value() == "open\n");
    disk.text["/run/halt"] = "closed";
    BOOST_TEST(reading_of(*flag).value().text.value() == "closed");
    disk.text.clear();
    BOOST_TEST(describe(reading_of(*flag).error()).find("/run/halt") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_is_no_file_neither_hangs_nor_fills_the_memory)
{
    for (char const* const path : {"/dev/zero", "/", "/proc/self/mem", "/no/such/file"})
        BOOST_TEST(reading_of(*flags::in_file(path)).has_error(), path);
}

BOOST_AUTO_TEST_SUITE_END()
