#include <quern/sqs/detail/named_queues.hpp>

#include <utility>

namespace quern::sqs::detail {

template <class Request>
answer<typename Request::response> named_queues::carry(Request request)
{
    if constexpr (requires { request.queue_url; }) {
        if (!is_queue_url(request.queue_url)) {
            auto const known = urls_.find(request.queue_url);
            if (known == urls_.end()) return carry_by_name(std::move(request));
            request.queue_url = known->second;
        }
    }
    return perform(to_, std::move(request));
}

template <class Request>
answer<typename Request::response> named_queues::carry_by_name(Request request)
{
    auto found = co_await find_queue_url(to_, request.queue_url);
    if (!found) co_return found.error();
    urls_.insert_or_assign(std::exchange(request.queue_url, *found), *found);
    if (is_closed_) co_return failure(errc::stopped, "whoever looked for the queue has ended");
    auto work = perform(to_, std::move(request));
    co_return co_await std::move(work);
}

} // namespace quern::sqs::detail

template class quern::sqs::forwarding_api<quern::sqs::detail::named_queues>;
