#include <quern/metrics/exporter.hpp>

#include <utility>

namespace quern::metrics {

namespace asio = boost::asio;

std::size_t export_rule::ended(tick now)
{
    std::size_t missed = 0;
    next_ += every_;
    if (next_ <= now) {
        missed = static_cast<std::size_t>((now - next_) / every_) + 1;
        next_ += every_ * static_cast<std::chrono::milliseconds::rep>(missed);
    }
    return missed;
}

exporter::exporter(asio::any_io_executor ex, collection& all, destination& to, exporter_options o)
    : all_(all), to_(to), options_(std::move(o)), time_(options_.time ? *options_.time : real_clock()),
      log_(options_.log), ended_(time_, std::move(ex))
{}

asio::awaitable<void> exporter::one()
{
    auto now = all_.snapshot();
    auto const sent = co_await to_.send(std::move(now));
    if (sent) co_return;
    all_.drop();
    log_.write(log_level::warning, "metrics", "not exported: " + describe(sent.error()), time_.now());
}

asio::awaitable<void> exporter::run()
{
    export_rule rule(options_.every, time_.now());
    while (!over_) {
        auto const at = rule.next();
        co_await ended_.wait(at);
        if (over_) break;
        co_await one();
        auto const missed = rule.ended(time_.now());
        for (auto i = missed; i != 0; --i)
            all_.drop();
        if (missed != 0)
            log_.write(log_level::warning, "metrics",
                "not exported, since the export before took that long: " + std::to_string(missed), time_.now());
        log_.flush(time_.now());
    }
    co_await one();
}

void exporter::end()
{
    over_ = true;
    ended_.ring();
}

} // namespace quern::metrics
