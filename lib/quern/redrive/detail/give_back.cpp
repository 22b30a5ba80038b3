#include <quern/redrive/detail/give_back.hpp>

#include <quern/core/alarm.hpp>
#include <quern/sqs/batch.hpp>
#include <quern/sqs/limits.hpp>

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <utility>

namespace quern::redrive::detail {

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<given_back> give_back(
    sqs::api& api, clock& time, std::string queue_url, std::vector<std::string> handles)
{
    alarm later(time, co_await asio::this_coro::executor);
    given_back out;
    out.hidden = handles.size();
    for (auto at = handles.begin(); at != handles.end();) {
        std::vector<sqs::change_visibility_entry> some;
        for (; at != handles.end() && some.size() < sqs::max_batch_entries; ++at)
            some.emplace_back("", *at, 0s);
        auto failed = some.size();
        for (int tries = 1; tries <= 2 && failed != 0; ++tries) {
            auto const soon = time.now() + 1s;
            if (tries == 2) co_await later.wait(soon);
            auto again = some;
            ++out.requests;
            auto const ends = co_await sqs::change_visibility_batch(api, queue_url, std::move(again));
            failed = static_cast<std::size_t>(std::ranges::count_if(ends, [](auto const& end) { return !end; }));
        }
        out.hidden -= some.size() - failed;
        if (failed == some.size()) break;
    }
    co_return out;
}

asio::awaitable<bool> extend_due(sqs::api& api, clock& time, std::string queue_url, held_messages& held)
{
    auto const asked_at = time.now();
    auto const due = held.due(asked_at);
    if (due.empty()) co_return false;
    auto const lease = held.lease(asked_at);
    std::vector<sqs::change_visibility_entry> some;
    for (auto const& one : due)
        some.emplace_back("", one.handle, lease);
    auto const ends = co_await sqs::change_visibility_batch(api, std::move(queue_url), std::move(some));
    for (std::size_t i = 0; i != due.size(); ++i) {
        if (ends[i])
            held.extended(due[i].id, asked_at, lease);
        else
            held.not_extended(due[i].id);
    }
    co_return true;
}

} // namespace quern::redrive::detail
