#include <quern/sim/virtual_clock.hpp>
#include <quern/tracing/tracer.hpp>

#include <boost/test/unit_test.hpp>

#include <set>

using namespace quern;
using namespace quern::tracing;
using namespace std::chrono_literals;
using telemetry::text_of;
using telemetry::trace_context;

namespace {

telemetry::span ended(tracer& t, bool sampled = true)
{
    telemetry::span out;
    out.self = t.begin(nullptr);
    out.self.sampled = sampled;
    return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(ids_are_of_their_own_and_a_trace_begins_with_the_time)
{
    sim::virtual_clock time(wall_time(0x65432100s));
    tracer t({}, time, 7);
    std::set<std::string> traces, spans;
    for (int i = 0; i < 1'000; ++i) {
        auto const one = t.begin(nullptr);
        auto const text = text_of(one.trace);
        BOOST_TEST(text.starts_with("65432100"), text);
        traces.insert(text);
        spans.insert(text_of(one.span));
    }
    BOOST_TEST(traces.size() == 1'000u);
    BOOST_TEST(spans.size() == 1'000u);
}

BOOST_AUTO_TEST_CASE(a_child_is_in_the_trace_of_its_parent_with_its_state)
{
    tracer t({}, real_clock(), 7);
    auto parent = t.begin(nullptr);
    parent.state = "a=1";
    for (bool const sampled : {true, false}) {
        parent.sampled = sampled;
        auto const child = t.begin(&parent);
        BOOST_TEST(child.trace == parent.trace);
        BOOST_TEST(child.span != parent.span);
        BOOST_TEST(child.state == "a=1");
        BOOST_TEST(child.sampled == sampled);
    }
}

BOOST_AUTO_TEST_CASE(what_is_not_sampled_is_not_kept)
{
    tracer t({}, real_clock(), 7);
    t.end(ended(t, false));
    BOOST_TEST(t.size() == 0u);
    t.end(ended(t));
    BOOST_TEST(t.take(10).size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_span_does_not_end_before_it_began)
{
    tracer t({}, real_clock(), 7);
    auto one = ended(t);
    one.began = wall_time(5s);
    one.ended = wall_time(4s); // somebody has set the clock
    t.end(std::move(one));
    BOOST_TEST(t.take(1).at(0).ended == wall_time(5s));
}

BOOST_AUTO_TEST_CASE(it_tells_once_when_there_are_enough_and_drops_what_finds_no_room)
{
    telemetry::trace_options options;
    options.batch = 3;
    options.buffer = 5;
    tracer t(options, real_clock(), 7);
    int told = 0;
    t.on_full([&] { ++told; });
    for (int i = 1; i <= 7; ++i) {
        t.end(ended(t));
        BOOST_TEST(told == (i < 3 ? 0 : 1));
    }
    BOOST_TEST(t.size() == 5u);
    BOOST_TEST(t.take_dropped() == 2u);
    t.take(4);
    t.on_full({});
    t.end(ended(t));
    t.end(ended(t));
    BOOST_TEST(told == 1);
}
