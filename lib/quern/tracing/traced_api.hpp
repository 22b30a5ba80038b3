#pragma once

#include <quern/sqs/forwarding_api.hpp>
#include <quern/tracing/message_traces.hpp>

#include <map>
#include <memory>
#include <string>

namespace quern::tracing {

/// A go-between of consumers and their client: it asks SQS for the contexts of messages, and has a span for each
/// receive. All else it passes on.
///
///     auto const spans = std::make_shared<quern::tracing::tracer>();
///     quern::tracing::traced_api traced(client, spans);
///     auto const its = traced.of_queue(queue_url);
///     options.observer = its;
///     quern::consumer orders(io.get_executor(), traced, queue_url, handle, options);
///
/// and in `handle`:  its->context_of(d)
///
/// Lifetime  as the client: longer than the consumers' drains.
/// Threads   as the client; of_queue() before the consumers start.
class traced_api final : public sqs::forwarding_api<traced_api> {
public:
    traced_api(sqs::api& to, std::shared_ptr<tracer> spans) : to_(to), tracer_(std::move(spans)) {}

    /// The observer that the consumer of this queue is to have; another consumer of the same queue needs a traced_api
    /// of its own. `next` is told of every event as well.
    std::shared_ptr<message_traces> of_queue(
        std::string const& url, std::shared_ptr<observer> next = {}, correlation = correlation::parent);

    template <class Request>
    sqs::answer<typename Request::response> carry(Request r)
    {
        return sqs::perform(to_, std::move(r));
    }
    sqs::answer<sqs::receive_message_response> carry(sqs::receive_message_request);

    std::chrono::milliseconds clock_offset() const override { return to_.clock_offset(); }
    std::string_view region() const override { return to_.region(); }
    sqs::lane_claim claim(sqs::lane_places wanted) override { return to_.claim(wanted); }

private:
    sqs::api& to_;
    std::shared_ptr<tracer> const tracer_;
    std::map<std::string, std::shared_ptr<message_traces>> queues_; ///< by URL
};

} // namespace quern::tracing
