#include "target.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

using namespace quern;

namespace {

std::filesystem::path const corpus = "tests/fuzz/corpus";

std::string content_of(std::filesystem::path const& file)
{
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace

BOOST_AUTO_TEST_SUITE(fuzz_corpus)

/// Whoever promises more than a reader keeps ends this process.
BOOST_AUTO_TEST_CASE(every_reader_takes_what_it_once_fell_over_and_every_beginning_of_it)
{
    for (auto const& target : fuzz::targets()) {
        int files = 0;
        for (auto const& entry : std::filesystem::directory_iterator(corpus / target.name)) {
            auto const bytes = content_of(entry.path());
            target.run(bytes);
            auto const step = bytes.size() / 64 + 1;
            for (std::size_t size = 0; size < bytes.size(); size += step)
                target.run(std::string_view(bytes).substr(0, size));
            ++files;
        }
        BOOST_TEST_CONTEXT(target.name) BOOST_TEST(files > 0);
    }
}

BOOST_AUTO_TEST_CASE(a_byte_changed_at_each_place_changes_no_promise)
{
    for (auto const& target : fuzz::targets()) {
        for (auto const& entry : std::filesystem::directory_iterator(corpus / target.name)) {
            auto bytes = content_of(entry.path());
            for (std::size_t at = 0; at < bytes.size(); at += bytes.size() / 64 + 1) {
                auto const was = bytes[at];
                for (char const other : {'\0', '\n', '"', '\xff', static_cast<char>(was + 1)}) {
                    bytes[at] = other;
                    target.run(bytes);
                }
                bytes[at] = was;
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
