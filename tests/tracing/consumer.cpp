#include "tracing/traced_mill.hpp"

#include <set>
#include <stdexcept>

using namespace quern;
using namespace quern::test;
using telemetry::text_of;
using tracing::correlation;

namespace {

telemetry::trace_options with(telemetry::sampler s)
{
    telemetry::trace_options out;
    out.sampler = s;
    return out;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(traced_consumer, traced_mill)

BOOST_AUTO_TEST_CASE(a_message_of_a_traced_sender_is_handled_below_its_span_and_settled_below_that)
{
    trace();
    send_from(sender, "a");
    std::optional<telemetry::trace_context> seen;
    consume_traced([&](delivery& d) -> asio::awaitable<void> {
        seen = its->context_of(d);
        co_await pause(250ms);
    });
    BOOST_REQUIRE(until(30s, [&] { return empty(); }));
    drained();

    auto const process = only("process"), settle = only("settle"), receive = only("receive");
    BOOST_TEST(process.name == "process orders");
    BOOST_TEST(process.kind == telemetry::span_kind::consumer);
    BOOST_TEST(text_of(process.self.trace) == "4bf92f3577b34da6a3ce929d0e0e4736");
    BOOST_TEST(text_of(process.parent) == "00f067aa0ba902b7");
    BOOST_REQUIRE(process.links.size() == 2u); // as the conventions want it, whoever the parent is; and the receive
    BOOST_TEST(telemetry::traceparent(process.links[0].to) == sender);
    BOOST_TEST(process.links[1].to.span == receive.self.span);
    BOOST_TEST((process.ended - process.began) / 1ms == 250);
    BOOST_TEST(value_of(process, "messaging.system") == "aws_sqs");
    BOOST_TEST(value_of(process, "messaging.operation.name") == "process");
    BOOST_TEST(value_of(process, "messaging.destination.name") == "orders");
    BOOST_TEST(value_of(process, "aws.sqs.queue.url") == url);
    BOOST_TEST(value_of(process, "quern.message.receive_count") == "1");
    BOOST_TEST(value_of(process, "quern.outcome") == "ack");
    BOOST_TEST(!process.failed);
    BOOST_REQUIRE(seen.has_value());
    BOOST_TEST(*seen == process.self);

    BOOST_TEST(settle.name == "delete orders");
    BOOST_TEST(settle.kind == telemetry::span_kind::client);
    BOOST_TEST(settle.self.trace == process.self.trace);
    BOOST_TEST(settle.parent == process.self.span);
    BOOST_TEST(settle.began == process.ended);
    BOOST_TEST(value_of(settle, "messaging.operation.name") == "delete");
    BOOST_TEST(value_of(settle, "messaging.message.id") == value_of(process, "messaging.message.id"));

    BOOST_TEST(receive.name == "receive orders");
    BOOST_TEST(receive.kind == telemetry::span_kind::client);
    BOOST_TEST(receive.parent == telemetry::span_id());
    BOOST_TEST(receive.self.trace != process.self.trace);
    BOOST_TEST(value_of(receive, "messaging.batch.message_count") == "1");
    BOOST_REQUIRE(receive.links.size() == 1u);
    BOOST_TEST(telemetry::traceparent(receive.links[0].to) == sender);
    BOOST_TEST(
        value_of(receive.links[0].attributes, "messaging.message.id") == value_of(process, "messaging.message.id"));
}

BOOST_AUTO_TEST_CASE(x_rays_header_does_as_well)
{
    trace();
    sqs::send_message_request request(url, "m");
    request.system_attributes["AWSTraceHeader"] = {
        "String", "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"};
    engine.send_message(std::move(request), time.wall()).value();
    consume_traced(fast);
    BOOST_REQUIRE(until(30s, [&] { return empty(); }));
    drained();
    BOOST_TEST(text_of(only("process").self.trace) == "5759e988bd862e3fe1be46a994272793");
    BOOST_TEST(text_of(only("process").parent) == "53995c3f42cd8ad8");
}

BOOST_AUTO_TEST_CASE(each_message_without_a_sender_begins_a_trace)
{
    trace();
    send(3);
    consume_traced(fast);
    BOOST_REQUIRE(until(30s, [&] { return empty(); }));
    drained();
    std::set<telemetry::trace_id> traces;
    for (auto const& s : all("process")) {
        traces.insert(s.self.trace);
        BOOST_TEST(s.parent == telemetry::span_id());
        BOOST_TEST(s.links.size() == 1u); // the receive
    }
    BOOST_TEST(traces.size() == 3u);
    BOOST_TEST(all("settle").size() == 3u);
    BOOST_TEST(value_of(only("receive"), "messaging.batch.message_count") == "3");
}

BOOST_AUTO_TEST_CASE(linked_only_a_handler_begins_a_trace_of_its_own)
{
    trace({}, correlation::links);
    send_from(sender);
    consume_traced(fast);
    BOOST_REQUIRE(until(30s, [&] { return empty(); }));
    drained();
    auto const process = only("process");
    BOOST_TEST(process.parent == telemetry::span_id());
    BOOST_TEST(text_of(process.self.trace) != "4bf92f3577b34da6a3ce929d0e0e4736");
    BOOST_TEST(telemetry::traceparent(process.links.at(0).to) == sender);
    BOOST_TEST(only("settle").parent == process.self.span);
}

BOOST_AUTO_TEST_CASE(who_is_not_sampled_leaves_no_span_and_passes_that_on)
{
    trace();
    std::string unsampled(sender);
    unsampled.back() = '0';
    send_from(unsampled);
    std::optional<telemetry::trace_context> seen;
    consume_traced([&](delivery& d) -> asio::awaitable<void> {
        seen = its->context_of(d);
        co_return;
    });
    BOOST_REQUIRE(until(30s, [&] { return empty(); }));
    drained();
    BOOST_TEST(all("process").empty());
    BOOST_TEST(all("settle").empty());
    BOOST_REQUIRE(seen.has_value());
    BOOST_TEST(!seen->sampled);
    BOOST_TEST(text_of(seen->trace) == "4bf92f3577b34da6a3ce929d0e0e4736");
}

BOOST_AUTO_TEST_CASE(a_sampler_that_takes_none_makes_none)
{
    trace(with({0, false}));
    send_from(sender);
    send(2);
    consume_traced(fast);
    BOOST_REQUIRE(until(30s, [&] { return empty(); }));
    drained();
    BOOST_TEST(spans->size() == 0u);
}

BOOST_AUTO_TEST_CASE(a_failure_is_the_status_and_each_try_has_its_spans)
{
    options.backoff = policy::backoff::fixed({1s});
    trace();
    send_from(sender);
    consume_traced([](delivery& d) -> asio::awaitable<outcome> {
        if (d.receive_count() == 1) throw std::runtime_error("no eggs");
        if (d.receive_count() == 2) co_return retry_after(1s);
        co_return ack();
    });
    BOOST_REQUIRE(until(2min, [&] { return empty(); }));
    drained();
    auto const tries = all("process"), ends = all("settle");
    BOOST_REQUIRE(tries.size() == 3u);
    BOOST_REQUIRE(ends.size() == 3u);
    struct {
        bool failed;
        char const *error, *outcome, *count, *told, *then;
    } const table[] = {
        {true, "threw", "retry", "1", "change_visibility", "put_off"},
        {true, "retry_after", "retry_after", "2", "change_visibility", "put_off"},
        {false, "none", "ack", "3", "delete", "deleted"},
    };
    for (std::size_t i = 0; i < 3; ++i) {
        BOOST_TEST(tries[i].failed == table[i].failed);
        BOOST_TEST(tries[i].why.empty() != table[i].failed);
        BOOST_TEST(value_of(tries[i], "error.type") == table[i].error);
        BOOST_TEST(value_of(tries[i], "quern.outcome") == table[i].outcome);
        BOOST_TEST(value_of(tries[i], "quern.message.receive_count") == table[i].count);
        BOOST_TEST(text_of(tries[i].parent) == "00f067aa0ba902b7");
        BOOST_TEST(value_of(ends[i], "messaging.operation.name") == table[i].told);
        BOOST_TEST(value_of(ends[i], "quern.outcome") == table[i].then);
        BOOST_TEST(ends[i].parent == tries[i].self.span);
    }
}

BOOST_AUTO_TEST_CASE(a_handler_of_several_has_a_span_for_each)
{
    trace();
    options.batch.size = 5;
    send_from(sender);
    send(4);
    std::size_t known = 0;
    consume_traced([&](deliveries some) -> asio::awaitable<void> {
        for (delivery const& d : some)
            known += its->context_of(d).has_value();
        co_return;
    });
    BOOST_REQUIRE(until(1min, [&] { return empty(); }));
    drained();
    BOOST_TEST(known == 5u);
    BOOST_TEST(all("process").size() == 5u);
    BOOST_TEST(all("settle").size() == 5u);
}

BOOST_AUTO_TEST_CASE(a_lease_that_is_lost_fails_the_settling)
{
    trace();
    options.visibility_timeout = 10s;
    options.limits.max_in_flight =
        1; // or a receive that is open could bring the message back here, where it would be adopted
    send_from(sender);
    api.on_change = [] { return std::optional<failure>(failure(errc::timed_out, "no answer", true)); };
    api.on_delete = api.on_change;
    consume_traced([&](delivery& d) -> asio::awaitable<void> {
        if (d.receive_count() == 1) co_await pause(1h);
    });
    BOOST_REQUIRE(until(1min, [&] { return !all("process").empty(); }));
    api.on_change = api.on_delete = [] { return std::optional<failure>(); };
    BOOST_REQUIRE(until(2min, [&] { return empty(); }));
    drained();
    BOOST_TEST(value_of(all("process").at(0), "error.type") == "lease_lost");
    BOOST_TEST(value_of(all("process").at(0), "quern.outcome") == "none");
    auto const end = all("settle").at(0);
    BOOST_TEST(end.failed);
    BOOST_TEST(value_of(end, "error.type") == "lease_lost");
}

BOOST_AUTO_TEST_CASE(a_handler_that_a_drain_leaves_behind_has_a_span_that_says_so)
{
    trace();
    send_from(sender);
    auto const stubborn = [&](delivery&) -> asio::awaitable<void> {
        co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
        co_await pause(10min);
    };
    consume_traced(stubborn);
    BOOST_REQUIRE(until(10s, [&] { return hidden() == 1; }));
    drained(5s);
    auto const process = only("process");
    BOOST_TEST(process.failed);
    BOOST_TEST(value_of(process, "error.type") == "drain_ended");
    time.run_for(io, 11min);
}

BOOST_AUTO_TEST_CASE(an_empty_receive_has_no_span_and_one_that_fails_has)
{
    trace();
    int left = 1;
    api.on_receive = [&]() -> std::optional<failure> {
        if (left-- > 0) return failure(errc::timed_out, "no answer", true);
        return {};
    };
    consume_traced(fast);
    until(2min, [] { return false; });
    drained();
    auto const receive = only("receive");
    BOOST_TEST(receive.failed);
    BOOST_TEST(receive.why.find("no answer") != std::string::npos, receive.why);
}

BOOST_AUTO_TEST_CASE(nothing_of_a_message_is_kept_when_it_is_over)
{
    trace();
    send(50);
    std::string last;
    consume_traced([&](delivery& d) -> asio::awaitable<void> {
        last = d.id();
        BOOST_TEST(its->context_of(last).has_value());
        co_return;
    });
    BOOST_REQUIRE(until(1min, [&] { return empty(); }));
    BOOST_TEST(!its->context_of(last).has_value());
    drained();
}

BOOST_AUTO_TEST_CASE(who_observes_behind_it_is_told_all)
{
    struct counting : observer {
        bool wants_queued() const override { return true; }
        void received(observed_message const& m) override { events += m.queued ? "r" : "?"; }
        void began(observed_message const&) override { events += "b"; }
        void ended(observed_message const&, handler_end, outcome::kind) override { events += "e"; }
        void lease_extended(observed_message const&, std::chrono::seconds) override { events += "x"; }
        void settled(observed_message const&, message_end, std::chrono::seconds) override { events += "s"; }
        void limits_changed(observed_limits const&) override { limits = true; }
        void drain_began(std::chrono::milliseconds) override { events += "d"; }
        void drain_ended(drain_report const&) override { events += "!"; }
        std::string events;
        bool limits = false;
    };
    auto const next = std::make_shared<counting>();
    options.observer = next;
    options.visibility_timeout = 10s;
    trace();
    send(1);
    consume_traced([&](delivery&) -> asio::awaitable<void> { co_await pause(8s); });
    BOOST_REQUIRE(until(30s, [&] { return empty(); }));
    drained();
    BOOST_TEST(next->events == "rbxesd!");
    BOOST_TEST(next->limits);
    BOOST_TEST(value_of(only("process"), "quern.lease.extensions") == "1");
}

// A message that an outage keeps here runs again, and its span told of the extensions of the run before too.
BOOST_AUTO_TEST_CASE(each_run_tells_of_its_own_extensions)
{
    trace();
    observed_message m;
    m.id = "m";
    its->received(m);
    for (int const extensions : {2, 1, 0}) {
        its->began(m);
        for (int n = 0; n < extensions; ++n)
            its->lease_extended(m, 30s);
        its->ended(m, handler_end::returned, outcome::kind::unavailable);
    }
    auto const runs = all("process");
    BOOST_REQUIRE(runs.size() == 3u);
    BOOST_TEST(value_of(runs[0], "quern.lease.extensions") == "2");
    BOOST_TEST(value_of(runs[1], "quern.lease.extensions") == "1");
    BOOST_TEST(value_of(runs[2], "quern.lease.extensions") == "none");
}

BOOST_AUTO_TEST_SUITE_END()
