#include <quern/redrive/detail/held_messages.hpp>

#include "support/t0.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace quern;
using namespace std::chrono_literals;

namespace {

using quern::redrive::detail::held_messages;
using quern::test::t0;

std::vector<std::string> ids(std::vector<held_messages::held> const& all)
{
    std::vector<std::string> out;
    for (auto const& one : all)
        out.push_back(one.id + "/" + one.handle);
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(held_messages_rule)

BOOST_AUTO_TEST_CASE(a_lease_is_as_long_as_the_command_has_taken_within_bounds)
{
    held_messages const h(t0);
    BOOST_TEST((h.lease(t0) == 30s));
    BOOST_TEST((h.lease(t0 + 30s) == 30s));
    BOOST_TEST((h.lease(t0 + 31s) == 31s));
    BOOST_TEST((h.lease(t0 + 10min) == 10min));
    BOOST_TEST((h.lease(t0 + 16min) == 15min));
}

BOOST_AUTO_TEST_CASE(or_so_long_that_ten_requests_a_second_extend_all)
{
    held_messages h;
    auto const holds = [&h](int count) {
        for (int i = 0; i < count; ++i)
            h.received(std::to_string(i), "h", t0, 30s);
        return h.lease(t0 + 1h);
    };
    BOOST_TEST((h.lease(t0 + 1h) == 30s));
    BOOST_TEST((holds(2'000) == 30s));
    BOOST_TEST((holds(10'000) == 150s));
    BOOST_TEST((holds(120'000) == 15min));
}

BOOST_AUTO_TEST_CASE(a_message_is_due_when_a_third_of_its_lease_is_left_the_earliest_first)
{
    held_messages h(t0);
    BOOST_TEST(h.due(t0 + 1h).empty());
    h.received("b", "1", t0 + 1s, 30s);
    h.received("a", "2", t0, 30s);
    BOOST_TEST(h.due(t0 + 19'999ms).empty());
    BOOST_TEST(ids(h.due(t0 + 20s)) == (std::vector<std::string>{"a/2", "b/1"}), boost::test_tools::per_element());
    h.extended("a", t0 + 20s, 30s);
    h.received("b", "3", t0 + 21s, 60s); // it came to light
    BOOST_TEST(h.due(t0 + 39s).empty());
    BOOST_TEST(ids(h.due(t0 + 40s)) == (std::vector<std::string>{"a/2", "b/3"}), boost::test_tools::per_element());
    h.not_extended("a");
    BOOST_TEST(h.due(t0 + 60s).empty());
    BOOST_TEST(ids(h.due(t0 + 61s)) == (std::vector<std::string>{"b/3"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(ten_are_extended_at_once)
{
    held_messages h(t0);
    for (int i = 0; i < 25; ++i)
        h.received(std::to_string(100 + i), "h", t0 + std::chrono::milliseconds(i), 30s);
    auto const first = h.due(t0 + 20s);
    BOOST_REQUIRE(first.size() == 10u);
    BOOST_TEST(first.front().id == "100");
    BOOST_TEST(first.back().id == "109");
}

BOOST_AUTO_TEST_CASE(what_is_given_back_is_what_is_still_hidden)
{
    held_messages h(t0);
    h.received("a", "1", t0, 30s);
    h.received("b", "2", t0 + 5s, 30s);
    h.not_extended("b");
    BOOST_TEST(h.handles(t0 + 29s).size() == 2u);
    BOOST_TEST(h.handles(t0 + 30s) == (std::vector<std::string>{"2"}), boost::test_tools::per_element());
    BOOST_TEST(h.handles(t0 + 35s).empty());
}

BOOST_AUTO_TEST_SUITE_END()
