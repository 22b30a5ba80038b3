#pragma once

#include <quern/consumer/delivery.hpp>
#include <quern/consumer/forwarding_observer.hpp>
#include <quern/telemetry/trace_context.hpp>
#include <quern/tracing/tracer.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace quern::tracing {

/// How the span of a handler hangs together with the message's sender.
enum class correlation {
    parent, ///< it is a child of the sender's span, so that a message's way is one tree; and linked to it
    links,  ///< it begins a trace of its own, and is linked to the sender's span
};

/// Traces of one consumer: a span for each receive that brought messages, one for each time that a handler had a
/// message, and one for what SQS was told of it afterwards.
///
/// Made by traced_api::of_queue(), as the consumer_options::observer. Spans have the names and attributes of
/// OpenTelemetry's conventions for messaging; docs/design/telemetry.md has the list.
///
/// Threads  events on the consumer's strand; context_of() any.
class message_traces final : public forwarding_observer {
public:
    message_traces(std::shared_ptr<tracer>, std::string queue_url, std::shared_ptr<observer> next, correlation);

    /// Context to pass on to whatever is called on behalf of this message: that of its handler's span, also where it
    /// is not sampled, so that others decide alike. Nothing when the message is none of this consumer's.
    std::optional<telemetry::trace_context> context_of(delivery const& d) const { return context_of(d.id()); }
    std::optional<telemetry::trace_context> context_of(std::string_view message_id) const;

    // For traced_api.
    void receive_ended(result<sqs::receive_message_response> const&, wall_time began);

    void received(observed_message const&) override;
    void began(observed_message const&) override;
    void ended(observed_message const&, handler_end, outcome::kind verdict) override;
    void lease_extended(observed_message const&, std::chrono::seconds) override;
    void lease_lost(observed_message const&) override;
    void settled(observed_message const&, message_end, std::chrono::seconds again) override;
    void drain_ended(drain_report const&) override;

private:
    using context = telemetry::trace_context;

    /// A message that has come and is not settled.
    struct life {
        std::optional<context> from;   ///< whoever sent it
        std::optional<context> answer; ///< the receive that brought it, where that is recorded
        context self;                  ///< of its handler's span
        wall_time began{}, ended{};
        int attempt = 0, extensions = 0;
        bool runs = false, has_run = false, is_lost = false;
    };
    struct hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    };
    using lives = std::unordered_map<std::string, life, hash, std::equal_to<>>;

    telemetry::span span_of(char const* operation, char const* type, telemetry::span_kind) const;
    context begin_process(life const&);
    void end_process(life&, std::string_view id, char const* error, std::string why, char const* outcome);

    std::shared_ptr<tracer> const tracer_;
    std::string const url_, queue_;
    correlation const how_;

    mutable std::mutex lock_; // for these
    lives arrived_;           ///< brought by a receive, and not yet received() by the consumer
    lives here_;
};

} // namespace quern::tracing
