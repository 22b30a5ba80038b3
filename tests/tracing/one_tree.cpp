#include <quern/tracing/sending.hpp>
#include <quern/tracing/span_exporter.hpp>

#include "tracing/traced_mill.hpp"

#include <boost/json.hpp>

#include <map>

using namespace quern;
using namespace quern::test;
namespace json = boost::json;

namespace {

/// Takes the bodies that are posted, as an OpenTelemetry collector would.
struct collector final : net::web_hook_sender {
    asio::awaitable<net::web_hook_result> send(net::web_hook_request r) override
    {
        auto const all = json::parse(r.body);
        for (auto const& s : all.at("resourceSpans").at(0).at("scopeSpans").at(0).at("spans").as_array())
            spans.push_back(s.as_object());
        net::response out;
        out.status = 200;
        out.body = "{}";
        co_return out;
    }

    std::vector<json::object> spans;
};

std::string text(json::object const& s, char const* member)
{
    auto const* const found = s.if_contains(member);
    return found ? std::string(found->as_string()) : std::string();
}

} // namespace

BOOST_FIXTURE_TEST_CASE(sender_queue_handler_and_settling_are_one_tree_at_a_collector, traced_mill)
{
    trace();
    auto const replies = engine.create_queue(sqs::create_queue_request("replies"), time.wall()).value().queue_url;
    collector at;
    auto const to = tracing::to_otlp(at, telemetry::otlp_options::for_traces(), "1");
    tracing::span_exporter exporter(io.get_executor(), *spans, *to);
    bool exported = false;
    asio::co_spawn(io, exporter.run(), [&](std::exception_ptr e) {
        BOOST_TEST(!e);
        exported = true;
    });

    producer_options slowly;
    slowly.time = &time;
    producer orders(io.get_executor(), *local, url, slowly), answers(io.get_executor(), *local, replies, slowly);
    tracing::traced_producer traced_orders(orders, spans, url), traced_answers(answers, spans, replies);
    auto const order = [&]() -> asio::awaitable<void> {
        sqs::send_message_entry entry("cake");
        auto const said = co_await traced_orders.send(std::move(entry));
        BOOST_TEST(said.has_value());
    };
    asio::co_spawn(io, order, [](std::exception_ptr e) { BOOST_TEST(!e); });
    consume_traced([&](delivery& d) -> asio::awaitable<void> { // it sends on behalf of the message
        sqs::send_message_entry entry("baked");
        auto const said = co_await traced_answers.send(std::move(entry), its->context_of(d));
        BOOST_TEST(said.has_value());
    });
    BOOST_REQUIRE(until(1min, [&] { return in(replies) == 1 && empty(); }));
    drained();
    exporter.end();
    BOOST_REQUIRE(until(10s, [&] { return exported; }));

    std::map<std::string, json::object> by_name;
    for (auto const& s : at.spans)
        BOOST_TEST(by_name.emplace(text(s, "name"), s).second, text(s, "name"));
    for (auto const* name : {"send orders", "receive orders", "process orders", "send replies", "delete orders"})
        BOOST_REQUIRE_MESSAGE(by_name.contains(name), name);
    auto const& root = by_name.at("send orders");
    auto const& process = by_name.at("process orders");
    BOOST_TEST(text(root, "parentSpanId") == "");
    BOOST_TEST(text(process, "parentSpanId") == text(root, "spanId"));
    BOOST_TEST(text(by_name.at("send replies"), "parentSpanId") == text(process, "spanId"));
    BOOST_TEST(text(by_name.at("delete orders"), "parentSpanId") == text(process, "spanId"));
    for (auto const* name : {"process orders", "send replies", "delete orders"})
        BOOST_TEST(text(by_name.at(name), "traceId") == text(root, "traceId"));
    auto const& brought = by_name.at("receive orders").at("links").at(0).as_object();
    BOOST_TEST(text(brought, "spanId") == text(root, "spanId"));
    BOOST_TEST(text(by_name.at("receive orders"), "traceId") != text(root, "traceId"));
}
