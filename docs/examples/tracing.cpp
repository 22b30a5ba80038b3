// Handles orders and answers each, traced from the order's sender to the answer: tracing ORDERS_URL ANSWERS_URL
#include <quern/net/web_hook_client.hpp>
#include <quern/quern.hpp>
#include <quern/tracing/sending.hpp>
#include <quern/tracing/span_exporter.hpp>
#include <quern/tracing/traced_api.hpp>

#include <boost/asio/co_spawn.hpp>

#include <csignal>
#include <exception>
#include <iostream>

namespace asio = boost::asio;
namespace tracing = quern::tracing;
using namespace std::chrono_literals;

int main(int argc, char* argv[])
try {
    if (argc != 3) return 2;
    auto const how = quern::telemetry::trace_options_from(quern::aws::process_environment).value(); // OTEL_*
    auto const spans = std::make_shared<tracing::tracer>(how);
    asio::io_context io;

    quern::consumer_options options;
    options.client.where.queue_url = argv[1];
    options.wait_time = 2s; // for a short drain while the queue is empty
    quern::sqs::client client(io.get_executor(), quern::client_options_for(options));
    tracing::traced_api traced(client, spans); // between the consumer and its client
    auto const its = traced.of_queue(argv[1]); // or with an observer of yours, that is told of all events too
    options.observer = its;

    quern::producer answers(io, argv[2]);
    tracing::traced_producer traced_answers(answers, spans, argv[2]);
    auto const handle = [&](quern::delivery& order) -> asio::awaitable<void> {
        auto const context = its->context_of(order); // to pass on, in a request's header traceparent say
        quern::sqs::send_message_entry answer("done: " + std::string(order.body()));
        auto const sent = co_await traced_answers.send(std::move(answer), context);
        sent.value(); // throws when it was not: the order comes again
    };
    quern::consumer orders(io.get_executor(), traced, argv[1], handle, options);
    orders.drain_on({SIGINT, SIGTERM});

    quern::net::web_hook_client web(io.get_executor());
    auto const collector = tracing::to_otlp(web, how.to, "1.0");
    tracing::span_exporter exporter(io.get_executor(), *spans, *collector);
    auto const consume = [&]() -> asio::awaitable<void> {
        auto const end = co_await orders.run();
        exporter.end(); // once what there is has been sent
        if (!end) std::cerr << describe(end.error()) << '\n';
    };
    auto const failed = [](std::exception_ptr bug) {
        if (bug) std::rethrow_exception(bug);
    };
    asio::co_spawn(io, consume, failed);
    asio::co_spawn(io, exporter.run(), failed);
    io.run();
} catch (std::exception const& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
