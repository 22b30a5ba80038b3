#include <quern/tracing/traced_api.hpp>

#include <quern/tracing/carrier.hpp>

#include <utility>

namespace quern::tracing {

std::shared_ptr<message_traces> traced_api::of_queue(
    std::string const& url, std::shared_ptr<observer> next, correlation how)
{
    return queues_[url] = std::make_shared<message_traces>(tracer_, url, std::move(next), how);
}

sqs::answer<sqs::receive_message_response> traced_api::carry(sqs::receive_message_request r)
{
    std::shared_ptr<message_traces> its;
    if (auto const found = queues_.find(r.queue_url); found != queues_.end()) its = found->second;
    if (its) ask_for_context(r);
    auto const began = tracer_->time().wall();
    auto got = co_await to_.receive_message(std::move(r));
    if (its) its->receive_ended(got, began);
    co_return got;
}

} // namespace quern::tracing
