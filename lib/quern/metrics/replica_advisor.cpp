#include <quern/metrics/replica_advisor.hpp>
#include <quern/sqs/queue_attributes.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

namespace quern::metrics {

namespace asio = boost::asio;

namespace {

constexpr std::size_t most_moments = 50'000; // at which messages come back: twelve hours, by seconds

bool slows(explanation const& said)
{
    constexpr std::string_view those[] = {
        "paused", "breaker", "flag", "handlers_hang", "receives_fail", "not_started", "draining", "ended"};
    return std::ranges::any_of(said.obstacles, [&](auto const& o) { return std::ranges::count(those, o.name) != 0; });
}

} // namespace

replica_advisor::replica_advisor(
    asio::any_io_executor ex, std::string queue_url, replica_advisor_options o, std::shared_ptr<observer> next)
    : forwarding_observer(std::move(next)), url_(std::move(queue_url)), options_(std::move(o)),
      time_(options_.time ? *options_.time : real_clock()), rule_(options_.rule), ended_(time_, std::move(ex))
{
    advice_.text = rule_.explain();
}

void replica_advisor::settled(observed_message const& m, message_end how, std::chrono::seconds again)
{
    forwarding_observer::settled(m, how, again);
    using time = std::chrono::duration<double>;
    ++own_.done;
    own_.held += time(m.waited + m.handled + m.settling);
    own_.handled += time(m.handled);
    if (how != message_end::put_off || again.count() <= 0) return;
    auto const until = std::chrono::ceil<std::chrono::seconds>((time_.now() + again).time_since_epoch());
    auto const at = std::ranges::lower_bound(put_off_, tick(until), {}, [](auto const& p) { return p.first; });
    if (at != put_off_.end() && at->first == tick(until))
        ++at->second;
    else if (put_off_.size() < most_moments)
        put_off_.insert(at, {tick(until), 1});
}

policy::queue_load replica_advisor::load(explanation const& said, tick now)
{
    while (!put_off_.empty() && put_off_.front().first <= now)
        put_off_.pop_front();
    auto out = own_;
    for (auto const& [until, n] : put_off_)
        out.put_off += n;
    auto const& limits = said.limits;
    out.in_flight = said.in_flight;
    out.running = said.running;
    out.places = std::min(limits.max_in_flight, limits.handler_concurrency.value_or(limits.max_in_flight));
    if (limits.rate)
        out.rate = static_cast<double>(limits.rate->count) / std::chrono::duration<double>(limits.rate->per).count();
    out.slowed = slows(said);
    return out;
}

asio::awaitable<void> replica_advisor::run(sqs::api& api, consumer const& of)
{
    while (!over_) {
        auto const next = time_.now() + options_.every;
        sqs::get_queue_attributes_request request(url_);
        auto const got = co_await api.get_queue_attributes(std::move(request));
        auto const depth = got ? sqs::depth_in(got->attributes) : got.error();
        if (depth && !over_) {
            auto const said = co_await of.explain();
            auto const now = time_.now();
            auto is = load(said, now);
            is.visible = depth->visible;
            is.not_visible = depth->in_flight;
            rule_.observe(is, now);
            std::lock_guard const held(lock_);
            advice_ = {rule_.wanted(), rule_.explain()};
        }
        if (!over_) co_await ended_.wait(next);
    }
}

void replica_advisor::end()
{
    over_ = true;
    ended_.ring();
}

replica_advice replica_advisor::advice() const
{
    std::lock_guard const held(lock_);
    return advice_;
}

void replica_advisor::label(telemetry::source_labels to)
{
    std::lock_guard const held(lock_);
    labels_ = std::move(to);
}

void replica_advisor::add_to(std::vector<telemetry::reading>& to) const
{
    std::lock_guard const held(lock_);
    telemetry::numbers out(telemetry::part::advice, labels_);
    if (advice_.replicas) out.set(telemetry::id::wanted_replicas, 0, static_cast<double>(*advice_.replicas));
    to.push_back(out.read());
}

} // namespace quern::metrics
