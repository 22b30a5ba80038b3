#include "consume/consume_work.hpp"

#include <quern/consumer/client_options.hpp>

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
    consumer_group_options together;
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
    if (handlers_of_slice_)
        to.handler_concurrency = std::min(to.handler_concurrency.value_or(*handlers_of_slice_), *handlers_of_slice_);
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

void consume_work::begin_with_slice()
{
    slice_ = std::exchange(limits_.rate, std::nullopt);
    for (auto const& q : queues_)
        q.of.pause("no slice of the fleet's budget yet");
}

asio::awaitable<result<void>> consume_work::set_slice(consumer_limits slice)
{
    slice_ = slice.rate;
    handlers_of_slice_ = slice.handler_concurrency;
    auto const said = co_await set_limits(limits_);
    if (!std::exchange(has_slice_, true)) {
        for (auto const& q : queues_)
            q.of.resume();
    }
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

std::optional<policy::rate> consume_work::rate_in_force() const
{
    auto const a_second = [](policy::rate const& r) {
        return static_cast<double>(r.count) / std::chrono::duration<double>(r.per).count();
    };
    auto out = limits_.rate;
    for (auto const& bound : {bound_, slice_}) {
        if (!bound || (out && a_second(*out) <= a_second(*bound))) continue;
        auto const burst = out ? std::min(bound->burst, out->burst) : bound->burst;
        out = bound;
        out->burst = burst;
    }
    return out;
}

sqs::client_options consume_client_options(sqs::client_options of_session,
    std::shared_ptr<aws::credentials_provider> credentials, consumer_options const& o, std::size_t queues,
    bool may_be_turned)
{
    of_session.credentials = std::move(credentials);
    auto& lanes = of_session.connections;
    lanes.data_connections = std::max(lanes.data_connections, queues * (may_be_turned ? 1'000 : o.limits.max_polls));
    lanes.control_connections = std::max(lanes.control_connections, queues * o.settle.max_calls);
    return client_options_for(o, std::move(of_session));
}

} // namespace quern::app
