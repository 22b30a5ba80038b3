#pragma once

#include <quern/producer/producer.hpp>
#include <quern/telemetry/span.hpp>
#include <quern/tracing/tracer.hpp>

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace quern::tracing {

/// Span of one message that is sent, from the wish to SQS's answer. `parent`: what it is sent on behalf of, a
/// handler's message_traces::context_of() say; absent: it begins a trace.
///
/// The message gets the span's context, see put_context(). One that has a context already keeps it, and the span is
/// linked to that.
class send_span {
public:
    send_span(tracer&, std::string_view queue_url, sqs::send_message_entry&,
        std::optional<telemetry::trace_context> const& parent = {});

    /// Once.
    void end(tracer&, result<sqs::send_message_response> const&);

    telemetry::trace_context const& context() const { return span_.self; }

private:
    telemetry::span span_;
};

/// A producer whose sends have spans.
///
/// Lifetime, threads  as the producer, which outlives it.
class traced_producer {
public:
    traced_producer(producer& to, std::shared_ptr<tracer> spans, std::string queue_url)
        : to_(to), tracer_(std::move(spans)), queue_url_(std::move(queue_url))
    {}

    /// As producer::send(). Cancelled, its span ends as failed.
    boost::asio::awaitable<result<sqs::send_message_response>> send(
        sqs::send_message_entry, std::optional<telemetry::trace_context> parent = {});

private:
    producer& to_;
    std::shared_ptr<tracer> const tracer_;
    std::string const queue_url_;
};

} // namespace quern::tracing
