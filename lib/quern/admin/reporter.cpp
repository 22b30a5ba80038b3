#include <quern/admin/reporter.hpp>

#include <boost/asio/co_spawn.hpp>

namespace quern::admin {

namespace asio = boost::asio;

reporter::reporter(asio::any_io_executor ex, std::shared_ptr<board> to, clock& time)
    : executor_(std::move(ex)), to_(std::move(to)), time_(time), next_(time, executor_), ended_(time, executor_)
{}

void reporter::watch(std::string name, consumer const& of, std::shared_ptr<recorder const> seen,
    std::shared_ptr<metrics::consumer_metrics> counted)
{
    pulse first;
    first.name = name;
    subjects_.push_back({std::move(name), of, std::move(seen), std::move(counted), std::move(first)});
}

void reporter::begin()
{
    running_ = true;
    auto const self = shared_from_this();
    auto const ended = [self](std::exception_ptr) { // a consumer that is gone is no bug of ours
        self->running_ = false;
        self->ended_.ring();
    };
    asio::co_spawn(executor_, run(), ended);
}

asio::awaitable<void> reporter::run()
{
    while (!over_) {
        auto const until = time_.now() + every;
        co_await look();
        if (!over_) co_await next_.wait(until);
    }
}

asio::awaitable<void> reporter::look()
{
    picture out;
    out.signs.began_at = to_->last()->signs.began_at;
    for (auto& one : subjects_) {
        auto said = co_await one.of.explain();
        auto const counts = one.of.counters();
        if (one.counted) one.counted->explained(said, time_.wall());
        one.last = next_pulse(std::move(one.last), said, counts, time_.now());
        out.signs.loops.push_back(one.last);
        queue_picture shown;
        shown.name = one.name;
        shown.said = std::move(said);
        shown.counts = counts;
        shown.seen = one.seen->look();
        out.queues.push_back(std::move(shown));
    }
    out.signs.beat_at = time_.now();
    out.signs.seen = true;
    to_->put(std::move(out));
}

asio::awaitable<void> reporter::end()
{
    auto const self = shared_from_this();
    over_ = true;
    next_.ring();
    while (running_)
        co_await ended_.wait();
    auto last = *to_->last();
    last.signs.over = true;
    last.signs.beat_at = time_.now();
    to_->put(std::move(last));
}

} // namespace quern::admin
