#include <quern/tracing/sending.hpp>

#include "producer/fixture.hpp"

#include <string>

using namespace quern;
using namespace quern::test;

namespace {

struct traced_workshop : workshop {
    std::shared_ptr<tracing::tracer> spans = std::make_shared<tracing::tracer>(telemetry::trace_options(), time, 7);
    std::optional<tracing::traced_producer> traced;

    void trace()
    {
        produce();
        traced.emplace(*it, spans, url);
    }

    void send_traced(sqs::send_message_entry entry, std::optional<telemetry::trace_context> parent = {})
    {
        auto const work = [this](sqs::send_message_entry what,
                              std::optional<telemetry::trace_context> from) -> asio::awaitable<void> {
            auto const body = what.body;
            auto how = co_await traced->send(std::move(what), from);
            results.emplace(body, std::move(how));
        };
        spawn(work(std::move(entry), parent));
        BOOST_REQUIRE(until_sent(results.size() + 1));
    }

    sqs::message received()
    {
        sqs::receive_message_request ask(url);
        ask.wait_time = 0s;
        ask.attribute_names = {"All"};
        ask.system_attribute_names = {"All"};
        got = engine.receive_message(ask, time.wall()).value().answer;
        BOOST_REQUIRE(got.messages.size() == 1u);
        return got.messages.front();
    }
    sqs::receive_message_response got;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(traced_sending, traced_workshop)

BOOST_AUTO_TEST_CASE(a_message_carries_the_context_of_the_span_of_its_sending)
{
    trace();
    send_traced(sqs::send_message_entry("a"));
    auto const all = spans->take(10);
    BOOST_REQUIRE(all.size() == 1u);
    auto const& s = all.front();
    BOOST_TEST(s.name == "send letters");
    BOOST_TEST(s.kind == telemetry::span_kind::producer);
    BOOST_TEST(s.parent == telemetry::span_id());
    BOOST_TEST((s.ended - s.began) / 1ms == 20);
    BOOST_TEST(
        (s.attributes.back() == telemetry::span_attribute{"messaging.message.id", results.at("a")->message_id}));
    auto const m = received();
    BOOST_TEST(m.attribute("traceparent")->value == telemetry::traceparent(s.self));
    BOOST_TEST(m.system("AWSTraceHeader") == telemetry::xray_header(s.self));
}

BOOST_AUTO_TEST_CASE(it_is_below_what_it_is_sent_for)
{
    trace();
    auto const parent = spans->begin(nullptr);
    send_traced(sqs::send_message_entry("a"), parent);
    auto const s = spans->take(1).at(0);
    BOOST_TEST(s.self.trace == parent.trace);
    BOOST_TEST(s.parent == parent.span);
}

BOOST_AUTO_TEST_CASE(a_context_of_the_users_own_is_linked_and_stays)
{
    constexpr char const* own = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    trace();
    sqs::send_message_entry entry("a");
    entry.attributes["traceparent"] = {"String", own};
    send_traced(std::move(entry));
    auto const s = spans->take(1).at(0);
    BOOST_TEST(s.kind == telemetry::span_kind::client);
    BOOST_TEST(telemetry::traceparent(s.links.at(0).to) == own);
    BOOST_TEST(received().attribute("traceparent")->value == own);
}

BOOST_AUTO_TEST_CASE(a_send_that_fails_is_a_failed_span)
{
    trace();
    api.before = [] { return std::optional<failure>(failure(errc::service_error, "no")); };
    send_traced(sqs::send_message_entry("a"));
    BOOST_TEST(results.at("a").has_error());
    auto const s = spans->take(1).at(0);
    BOOST_TEST(s.failed);
    BOOST_TEST(s.attributes.back().name == "error.type");
}

BOOST_AUTO_TEST_CASE(what_is_not_sampled_says_so_to_the_next_one)
{
    trace();
    auto parent = spans->begin(nullptr);
    parent.sampled = false;
    send_traced(sqs::send_message_entry("a"), parent);
    BOOST_TEST(spans->size() == 0u);
    BOOST_TEST(std::string(received().attribute("traceparent")->value).ends_with("-00"));
}

BOOST_AUTO_TEST_SUITE_END()
