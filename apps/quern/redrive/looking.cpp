#include "redrive/looking.hpp"

#include <quern/redrive/detail/give_back.hpp>
#include <quern/sqs/limits.hpp>

#include <algorithm>
#include <utility>

namespace quern::app {

namespace asio = boost::asio;
using namespace std::chrono_literals;

looking::looking(sqs::api& api, std::string queue_url, std::function<bool()> over, clock& time)
    : api_(api), url_(std::move(queue_url)), over_(std::move(over)), time_(time), held_(time.now())
{}

sqs::answer<sqs::receive_message_response> looking::receive(std::size_t most)
{
    for (bool more = true; more && !over_();) {
        more = co_await redrive::detail::extend_due(api_, time_, url_, held_);
        if (more) ++requests_;
    }
    if (over_()) co_return sqs::receive_message_response();
    auto const asked_at = time_.now();
    auto const lease = held_.lease(asked_at);
    sqs::receive_message_request ask(url_);
    ask.max_messages = static_cast<int>(std::min(most, sqs::max_batch_messages));
    ask.visibility_timeout = lease;
    ask.wait_time = 1s;
    ask.system_attribute_names = {"All"};
    ask.attribute_names = {"All"};
    ++requests_;
    auto got = co_await api_.receive_message(std::move(ask));
    if (!got) co_return got;
    for (auto const& m : got->messages)
        held_.received(std::string(m.id), std::string(m.receipt_handle), asked_at, lease);
    for (auto const& m : got->damaged)
        if (!m.known.receipt_handle.empty())
            held_.received(std::string(m.known.receipt_handle), std::string(m.known.receipt_handle), asked_at, lease);
    co_return got;
}

asio::awaitable<std::size_t> looking::give_back()
{
    auto handles = held_.handles(time_.now());
    auto const given = co_await redrive::detail::give_back(api_, time_, url_, std::move(handles));
    requests_ += given.requests;
    co_return given.hidden;
}

} // namespace quern::app
