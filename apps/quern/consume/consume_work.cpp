#include "consume/consume_work.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

namespace quern::app {

namespace asio = boost::asio;

consume_work::consume_work(asio::io_context& io, sqs::api& api, std::vector<std::string> const& urls,
    std::function<handler(std::string const& url)> const& handle,
    std::function<batch_handler(std::string const& url)> const& many,
    std::function<std::shared_ptr<observer>(std::string const& url)> const& watch, consumer_options options)
    : rate_(options.rate.value_or(policy::rate())), handlers_(options.handler_concurrency)
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
    together.max_in_flight = options.max_in_flight;
    auto each = options;
    each.max_in_flight = 120'000; // what all share is the limit
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
    if (several_ && to.max_in_flight) {
        auto const said = co_await several_->set_max_in_flight(*to.max_in_flight);
        if (!said) co_return said;
        to.max_in_flight.reset();
    }
    if (to.handler_concurrency) {
        handlers_ = *to.handler_concurrency;
        if (handlers_of_slice_)
            to.handler_concurrency = handlers_ == 0 ? *handlers_of_slice_ : std::min(handlers_, *handlers_of_slice_);
    }
    auto const before = rate_;
    if (to.rate) {
        rate_ = *to.rate;
        to.rate = rate_in_force();
    }
    for (auto const& q : queues_) {
        auto const said = co_await q.of.set_limits(to);
        if (said) continue;
        rate_ = before;
        co_return said;
    }
    co_return result<void>();
}

asio::awaitable<result<void>> consume_work::limit_rate(std::optional<policy::rate> bound)
{
    bound_ = bound;
    consumer_limits to;
    to.rate = rate_;
    auto const said = co_await set_limits(std::move(to));
    co_return said;
}

void consume_work::begin_with_slice()
{
    slice_ = std::exchange(rate_, policy::rate());
}

asio::awaitable<result<void>> consume_work::set_slice(consumer_limits slice)
{
    slice_ = slice.rate;
    consumer_limits to;
    to.rate = rate_;
    handlers_of_slice_ = slice.handler_concurrency;
    if (handlers_of_slice_) to.handler_concurrency = handlers_;
    auto const said = co_await set_limits(std::move(to));
    co_return said;
}

std::string consume_work::report(drain_report const& how) const
{
    auto text = to_json(how);
    if (one_) return text;
    text.pop_back();
    std::string_view before = ",\"queues\":[";
    for (auto const& q : queues_) {
        auto const done = q.of.counters();
        text += fmt::format(
            R"({}{{"queue_url":"{}","received":{},"acknowledged":{},"put_off":{},"released":{},"rejected":{},"lost":{}}})",
            before, q.url, done.received, done.acked, done.retried, done.released, done.rejected, done.lost);
        before = ",";
    }
    return text + "]}";
}

policy::rate consume_work::rate_in_force() const
{
    auto const a_second = [](policy::rate const& r) {
        return static_cast<double>(r.count) / std::chrono::duration<double>(r.per).count();
    };
    auto out = rate_;
    for (auto const& bound : {bound_, slice_}) {
        if (!bound || bound->count == 0) continue;
        if (out.count != 0 && a_second(out) <= a_second(*bound)) continue;
        auto const burst = out.count == 0 ? bound->burst : std::min(bound->burst, out.burst);
        out = *bound;
        out.burst = burst;
    }
    return out;
}

} // namespace quern::app
