#include <quern/redrive/detail/give_back.hpp>

#include <quern/core/alarm.hpp>
#include <quern/sqs/batch.hpp>
#include <quern/sqs/limits.hpp>

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <utility>

namespace quern::redrive {

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<std::size_t> give_back(
    sqs::api& api, clock& time, std::string queue_url, std::vector<std::string> handles)
{
    alarm later(time, co_await asio::this_coro::executor);
    std::size_t told = 0;
    for (auto at = handles.begin(); at != handles.end();) {
        std::vector<sqs::change_visibility_entry> some;
        for (; at != handles.end() && some.size() < sqs::max_batch_entries; ++at)
            some.emplace_back("", *at, 0s);
        auto failed = some.size();
        for (int tries = 1; tries <= 2 && failed != 0; ++tries) {
            auto const soon = time.now() + 1s;
            if (tries == 2) co_await later.wait(soon);
            auto again = some;
            auto const ends = co_await sqs::change_visibility_batch(api, queue_url, std::move(again));
            failed = static_cast<std::size_t>(std::ranges::count_if(ends, [](auto const& end) { return !end; }));
        }
        told += some.size() - failed;
        if (failed == some.size()) break;
    }
    co_return handles.size() - told;
}

} // namespace quern::redrive
