// The pipeline tells what it waits for: when asked, and by itself when nothing moves.

#include <quern/consumer/detail/pipeline.hpp>

#include <cstdio>
#include <set>
#include <string_view>

namespace quern {

using std::chrono::milliseconds;

namespace {

milliseconds between(tick from, tick to)
{
    return std::chrono::floor<milliseconds>(to - from);
}

std::string in_seconds(tick at, tick now)
{
    char text[32];
    std::snprintf(text, sizeof text, "in %.1f s", std::chrono::duration<double>(at - now).count());
    return text;
}

char const* name_of(held::stage at)
{
    switch (at) {
    case held::stage::running: return "running";
    case held::stage::settling: return "settling";
    case held::stage::waiting:
    case held::stage::gathering:
    case held::stage::gone: break;
    }
    return "waiting";
}

constexpr std::size_t ceiling = 120'000; // SQS developer guide, quotas: in flight, in standard and in FIFO queues

} // namespace

explanation consumer::pipeline::explain()
{
    auto const time = now();
    explanation out;
    out.polls = intake_.polls();
    out.in_flight = in_flight.size();
    out.bytes = in_flight.bytes();
    out.quiet = between(stall_.since(), time);
    out.running = running_;
    out.obstacles = obstacles(time);
    if (auto const& last = log_.last_problem()) out.last_problem = {last->text, between(last->at, time)};

    held const* oldest = nullptr;
    std::set<std::string_view> groups;
    in_flight.for_each([&](held_ptr const& h) {
        if (!oldest || h->came_in->received_at < oldest->came_in->received_at) oldest = h.get();
        if (fifo_) groups.insert(h->message.group());
    });
    if (oldest) {
        out.oldest = {
            std::string(oldest->message.id()), between(oldest->came_in->received_at, time), name_of(oldest->at)};
    }
    if (!outage_.halts(time)) {
        if (auto bad = outage_.explain(time); !bad.empty()) out.remarks.push_back(std::move(bad));
    }
    if (!groups.empty()) {
        out.remarks.push_back("SQS gives nothing of " + std::to_string(groups.size()) +
            " message groups while they have messages in flight");
    }
    if (in_flight.size() >= ceiling) {
        out.remarks.push_back("SQS gives nothing more while " + std::to_string(ceiling) + " messages are in flight");
    }
    return out;
}

std::vector<explanation::obstacle> consumer::pipeline::obstacles(tick time)
{
    std::vector<explanation::obstacle> out;
    if (ended_)
        out.push_back({"ended", "ended"});
    else if (!started_)
        out.push_back({"not_started", "not started"});
    else if (drain_)
        out.push_back({"draining", "draining"});
    if (outage_.halts(time)) out.push_back({outage_.paused() ? "paused" : "breaker", outage_.explain(time)});
    if (in_flight.size() >= options.max_in_flight) {
        out.push_back({"max_in_flight",
            "max_in_flight is reached: " + std::to_string(running_) + " are being handled, " +
                std::to_string(in_flight.size() - running_) + " wait or are being settled"});
    }
    auto const coming = intake_.coming();
    if (bytes_.room(in_flight.bytes(), coming) == 0) {
        out.push_back({"max_bytes_in_flight",
            "max_bytes_in_flight leaves no room: " + std::to_string(in_flight.bytes()) + " bytes of " +
                std::to_string(options.max_bytes_in_flight) + " are held, " + std::to_string(coming) +
                " messages may come"});
    }
    if (pace_.room(coming, time) == 0) {
        auto const at = pace_.wake_at();
        out.push_back({"rate",
            "rate: " + std::to_string(pace_.waiting()) + " messages wait for their turn, the next " +
                (at ? in_seconds(*at, time) : "when one that was asked for has come")});
    }
    if (auto const at = intake_.pauses_until(); at > time) {
        auto const failures = intake_.failures();
        if (failures != 0)
            out.push_back({"receives_fail",
                "receives fail, " + std::to_string(failures) + " in a row: the next " + in_seconds(at, time)});
        else
            out.push_back(
                {"empty_answers", "an empty answer came at once: the next receive " + in_seconds(at, time)});
    }
    return out;
}

void consumer::pipeline::watch_for_stall(tick time)
{
    auto const& c = counters;
    auto const progress = c.polls - c.failed_polls + c.acked + c.retried + c.released + c.rejected + c.lost;
    auto const on_purpose = drain_ || outage_.paused() || pace_.wake_at();
    if (!stall_.due(progress, on_purpose, time)) return;
    auto const quiet = std::chrono::floor<std::chrono::seconds>(time - stall_.since()).count();
    stall_log_.write(log_level::warning, "stalled",
        "nothing received and nothing settled for " + std::to_string(quiet) + " s: " + to_string(explain()), time);
}

} // namespace quern
