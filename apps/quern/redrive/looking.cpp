#include "redrive/looking.hpp"

#include <quern/sqs/batch.hpp>
#include <quern/sqs/limits.hpp>

#include <algorithm>
#include <utility>

namespace quern::app {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr int most_in_vain = 2; // batches of which nothing could be given back; then SQS is gone

} // namespace

looking::looking(sqs::api& api, std::string queue_url, std::function<bool()> over, clock& time)
    : api_(api), url_(std::move(queue_url)), over_(std::move(over)), time_(time), held_(time.now())
{}

asio::awaitable<void> looking::extend()
{
    for (auto due = held_.due(time_.now()); !due.empty() && !over_(); due = held_.due(time_.now())) {
        auto const asked_at = time_.now();
        auto const lease = held_.lease(asked_at);
        std::vector<sqs::change_visibility_entry> some;
        for (auto const& one : due)
            some.emplace_back("", one.handle, lease);
        ++requests_;
        auto const ends = co_await sqs::change_visibility_batch(api_, url_, std::move(some));
        for (std::size_t i = 0; i < ends.size(); ++i) {
            if (ends[i])
                held_.extended(due[i].id, asked_at, lease);
            else
                held_.not_extended(due[i].id);
        }
    }
}

sqs::answer<sqs::receive_message_response> looking::receive(std::size_t most)
{
    co_await extend();
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
    std::size_t hidden = 0;
    auto const handles = held_.handles(time_.now());
    for (std::size_t at = 0, in_vain = 0; at < handles.size();) {
        if (in_vain == most_in_vain) co_return hidden + handles.size() - at;
        std::vector<sqs::change_visibility_entry> some;
        for (; at < handles.size() && some.size() < sqs::max_batch_entries; ++at)
            some.emplace_back("", handles[at], 0s);
        auto const count = some.size();
        ++requests_;
        auto const ends = co_await sqs::change_visibility_batch(api_, url_, std::move(some));
        auto const failed = static_cast<std::size_t>(
            std::ranges::count_if(ends, [](result<void> const& one) { return !one.has_value(); }));
        hidden += failed;
        in_vain = failed == count ? in_vain + 1 : 0;
    }
    co_return hidden;
}

} // namespace quern::app
