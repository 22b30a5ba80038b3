#include <quern/telemetry/span.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

using namespace quern::telemetry;

namespace {

span named(std::string name)
{
    span out;
    out.name = std::move(name);
    return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(spans_leave_in_their_order_and_what_finds_no_room_is_counted)
{
    span_buffer buffer(3);
    for (auto const* name : {"a", "b", "c"})
        BOOST_TEST(buffer.add(named(name)));
    BOOST_TEST(!buffer.add(named("d")));
    BOOST_TEST(!buffer.add(named("e")));
    BOOST_TEST(buffer.take_dropped() == 2u);
    BOOST_TEST(buffer.take_dropped() == 0u);

    auto const two = buffer.take(2);
    BOOST_REQUIRE(two.size() == 2u);
    BOOST_TEST(two[0].name == "a");
    BOOST_TEST(two[1].name == "b");
    BOOST_TEST(buffer.add(named("f")));
    BOOST_TEST(buffer.size() == 2u);
    auto const rest = buffer.take(100);
    BOOST_REQUIRE(rest.size() == 2u);
    BOOST_TEST(rest[1].name == "f");
    BOOST_TEST(buffer.take(100).empty());
}

BOOST_AUTO_TEST_CASE(a_buffer_without_room_drops_all)
{
    span_buffer buffer(0);
    BOOST_TEST(!buffer.add(named("a")));
    BOOST_TEST(buffer.take_dropped() == 1u);
    BOOST_TEST(buffer.take(1).empty());
}
