#include "consume/vital_watch.hpp"

#include "common/complaint.hpp"

namespace quern::app {

vital_watch::vital_watch(consume_work const& all) : all_(&all)
{
    signs_.began_at = signs_.beat_at = real_clock().now();
    for (auto const& q : all.queues())
        signs_.loops.emplace_back().name = q.url;
}

boost::asio::awaitable<bool> vital_watch::alive()
{
    auto const self = shared_from_this();
    for (std::size_t i = 0; all_ && i < signs_.loops.size(); ++i) {
        auto const& of = all_->queues()[i].of;
        auto const counts = of.counters();
        auto const said = co_await of.explain();
        auto& last = signs_.loops[i];
        last = admin::next_pulse(std::move(last), said, counts, real_clock().now());
    }
    if (!all_) co_return true;
    auto const now = signs_.beat_at = real_clock().now();
    signs_.seen = true;
    auto const how = admin::liveness(signs_, admin::health_limits(), now);
    if (how.status != 200) log_line(log_level::error, "the watchdog is told nothing: " + how.reason);
    co_return how.status == 200;
}

} // namespace quern::app
