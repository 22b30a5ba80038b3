#include <quern/tracing/sending.hpp>

#include <quern/metrics/collection.hpp>
#include <quern/sqs/queue_reference.hpp>
#include <quern/tracing/carrier.hpp>

#include <utility>

namespace quern::tracing {

namespace asio = boost::asio;

send_span::send_span(tracer& t, std::string_view queue_url, sqs::send_message_entry& what,
    std::optional<telemetry::trace_context> const& parent)
{
    std::string const queue(sqs::queue_name_in(queue_url));
    auto const its_own = context_of(what);
    span_.self = t.begin(parent ? &*parent : nullptr);
    if (parent) span_.parent = parent->span;
    if (its_own)
        span_.links.push_back({*its_own});
    else
        put_context(what, span_.self, t.options().propagators);
    if (!span_.self.sampled) return;
    span_.name = "send " + queue;
    span_.kind = its_own ? telemetry::span_kind::client : telemetry::span_kind::producer;
    span_.attributes.reserve(6);
    span_.add("messaging.system", "aws_sqs");
    span_.add("messaging.operation.name", "send");
    span_.add("messaging.operation.type", "send");
    span_.add("messaging.destination.name", queue);
    span_.add("aws.sqs.queue.url", std::string(queue_url));
    span_.began = t.time().wall();
}

void send_span::end(tracer& t, result<sqs::send_message_response> const& how)
{
    if (!span_.self.sampled) return;
    span_.ended = t.time().wall();
    if (how) {
        span_.add("messaging.message.id", how->message_id);
    } else {
        auto const& why = how.error();
        span_.failed = true;
        span_.why = describe(why);
        span_.add("error.type", why.service_code.empty() ? why.code.message() : why.service_code);
    }
    t.end(std::move(span_));
}

asio::awaitable<result<sqs::send_message_response>> traced_producer::send(
    sqs::send_message_entry what, std::optional<telemetry::trace_context> parent)
{
    send_span its(*tracer_, queue_url_, what, parent);
    auto got = co_await to_.send(std::move(what));
    its.end(*tracer_, got);
    co_return got;
}

} // namespace quern::tracing
