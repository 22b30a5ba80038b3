// What a user adds to a consumer, as the scenario service-full has it: tenants in turn, idempotency, metrics, traces.
#pragma once

#include "contender.hpp"

#include <quern/idempotency/memory_store.hpp>
#include <quern/idempotency/once.hpp>
#include <quern/metrics/collection.hpp>
#include <quern/net/web_hook_client.hpp>
#include <quern/quern.hpp>
#include <quern/tracing/span_exporter.hpp>
#include <quern/tracing/traced_api.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace bench {

/// Everything beside of one consumer. Spans go to the service that handlers ask; nobody reads the metrics.
class everything {
public:
    everything(boost::asio::io_context& io, std::string queue, std::string const& asked)
        : queue_(std::move(queue)), web_(io.get_executor())
    {
        quern::telemetry::trace_options how;
        how.to.url = "http://" + asked + "/hook";
        spans_ = std::make_shared<quern::tracing::tracer>(how);
        collector_ = quern::tracing::to_otlp(web_, how.to, "0");
        exporter_.emplace(io.get_executor(), *spans_, *collector_);
        quern::idempotency::once_options options;
        options.prefix = "bench";
        once_ = std::make_shared<quern::idempotency::once>(
            std::make_shared<quern::idempotency::memory_store>(), std::move(options));
    }

    /// Makes the consumer.
    void make(boost::asio::io_context& io, std::optional<quern::consumer>& consumer, quern::handler handle,
        quern::consumer_options options)
    {
        options.tenant = [](quern::delivery const& d) {
            return "t" + std::to_string(number(d.body().substr(17)) % 50);
        };
        options.limits.handler_concurrency = options.limits.max_in_flight / 2;
        options.client.where.queue_url = queue_;
        client_.emplace(io.get_executor(), quern::client_options_for(options));
        traced_.emplace(*client_, spans_);
        auto const counted = numbers_.consumer(queue_);
        options.observer = traced_->of_queue(queue_, counted);
        consumer.emplace(io.get_executor(), *traced_, queue_, once_->wrap(std::move(handle)), std::move(options));
        counted->follow(*consumer);
    }

    /// Runs it until it has drained, and then sends the last spans.
    void run(boost::asio::io_context& io, quern::consumer& consumer)
    {
        auto const failed = [](std::exception_ptr bug) {
            if (bug) std::rethrow_exception(bug);
        };
        boost::asio::co_spawn(io, exporter_->run(), failed);
        boost::asio::co_spawn(io, run_to_the_end(consumer), failed);
    }

private:
    boost::asio::awaitable<void> run_to_the_end(quern::consumer& consumer)
    {
        auto const end = co_await consumer.run();
        exporter_->end();
        if (!end) std::fprintf(stderr, "%s\n", describe(end.error()).c_str());
    }

    std::string queue_;
    quern::net::web_hook_client web_;
    quern::metrics::collection numbers_;
    std::shared_ptr<quern::tracing::tracer> spans_;
    std::unique_ptr<quern::tracing::span_destination> collector_;
    std::optional<quern::tracing::span_exporter> exporter_;
    std::shared_ptr<quern::idempotency::once> once_;
    std::optional<quern::sqs::client> client_;
    std::optional<quern::tracing::traced_api> traced_;
};

} // namespace bench
