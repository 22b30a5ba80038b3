#include "consume/consume_work.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace quern::app {

namespace asio = boost::asio;

consume_work::consume_work(asio::io_context& io, sqs::api& api, std::vector<std::string> const& urls,
    std::function<handler(std::string const& url)> const& handle,
    std::function<batch_handler(std::string const& url)> const& many,
    std::function<std::shared_ptr<observer>(std::string const& url)> const& watch, consumer_options options)
    : limits_(options.limits)
{
    if (urls.size() == 1) {
        if (watch) options.observer = watch(urls.front());
        if (many)
            one_.emplace(io.get_executor(), api, urls.front(), many(urls.front()), options);
        else
            one_.emplace(io.get_executor(), api, urls.front(), handle(urls.front()), options);
        queues_.push_back({urls.front(), *one_});
        return;
    }
    consumers_options together;
    together.max_in_flight = options.limits.max_in_flight;
    auto each = options;
    each.limits.max_in_flight = 120'000; // what all share is the limit
    several_.emplace(io.get_executor(), together);
    for (auto const& url : urls) {
        if (watch) each.observer = watch(url);
        auto& added = many ? several_->add(api, url, many(url), each) : several_->add(api, url, handle(url), each);
        queues_.push_back({url, added});
    }
}

asio::awaitable<result<drain_report>> consume_work::run()
{
    return one_ ? one_->run() : several_->run();
}

asio::awaitable<drain_report> consume_work::drained()
{
    return one_ ? one_->drained() : several_->drained();
}

void consume_work::stop(std::chrono::milliseconds limit)
{
    if (one_)
        one_->stop(limit);
    else
        several_->stop(limit);
}

void consume_work::drain_on(std::initializer_list<int> signals, std::chrono::milliseconds limit)
{
    if (one_)
        one_->drain_on(signals, limit);
    else
        several_->drain_on(signals, limit);
}

asio::awaitable<result<void>> consume_work::set_limits(consumer_limits to)
{
    if (several_) {
        auto const said = co_await several_->set_max_in_flight(to.max_in_flight);
        if (!said) co_return said;
    }
    auto const before = std::exchange(limits_, to);
    to.rate = rate_in_force();
    auto const turn = [this, to](consumer_limits& l) {
        auto const its_share = l.max_in_flight;
        l = to;
        if (several_) l.max_in_flight = its_share;
    };
    for (auto const& q : queues_) {
        auto const said = co_await q.of.set_limits(turn);
        if (said) continue;
        limits_ = before;
        co_return said;
    }
    co_return result<void>();
}

asio::awaitable<result<void>> consume_work::limit_rate(std::optional<policy::rate> bound)
{
    bound_ = bound;
    auto const said = co_await set_limits(limits_);
    co_return said;
}

std::optional<policy::rate> consume_work::rate_in_force() const
{
    auto const& its = limits_.rate;
    if (!bound_) return its;
    auto const a_second = [](policy::rate const& r) {
        return static_cast<double>(r.count) / std::chrono::duration<double>(r.per).count();
    };
    if (its && a_second(*its) <= a_second(*bound_)) return its;
    auto out = *bound_;
    if (its) out.burst = std::min(out.burst, its->burst);
    return out;
}

} // namespace quern::app
