#include <quern/consumer/detail/explainer.hpp>

#include <cstdio>
#include <set>
#include <string_view>

namespace quern::detail {

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

char const* state_of(message_life const& its)
{
    return its.is_running() ? "running" : its.is_settling() ? "settling" : "waiting";
}

constexpr std::size_t ceiling = 120'000; // SQS developer guide, quotas: in flight, in standard and in FIFO queues

} // namespace

explanation explainer::explain(bool started, tick time)
{
    explanation out;
    out.polls = context_.open_receives;
    out.in_flight = context_.in_flight.size();
    out.bytes = context_.in_flight.bytes();
    out.quiet = between(stall_.since(), time);
    out.running = context_.running;
    out.limits = context_.limits;
    out.obstacles = obstacles(started, time);
    out.ready = started && !context_.ending && intake_.rule().failures() == 0;
    if (auto const& last = context_.log.last_problem()) out.last_problem = {last->text, between(last->at, time)};

    held const* oldest = nullptr;
    std::set<std::string_view> groups;
    context_.in_flight.for_each([&](held_ptr const& h) {
        if (!oldest || h->came_in->received_at < oldest->came_in->received_at) oldest = h.get();
        if (!h->life.is_running() && h->life.is_settling()) ++out.settling;
        if (context_.fifo) groups.insert(h->message.group());
    });
    if (oldest) {
        out.oldest = {
            std::string(oldest->message.id()), between(oldest->came_in->received_at, time), state_of(oldest->life)};
    }
    if (auto why = context_.gate->explain(time); !why.empty() && !slows(time)) out.remarks.push_back(std::move(why));
    if (auto const& flag = gate_.flag();
        flag.at(time) == policy::detail::flag_rule::state::unknown && !flag.halts(time))
        out.remarks.push_back(flag.explain(time));
    if (auto const& flag = gate_.flag(); flag.at(time) != policy::detail::flag_rule::state::none)
        out.flag = explanation::flag_state{flag.halts(time), flag.age(time)};
    if (!groups.empty()) {
        out.remarks.push_back("SQS gives nothing of " + std::to_string(groups.size()) +
            " message groups while they have messages in flight");
    }
    if (auto const turned = turned_limits(); !turned.empty()) out.remarks.push_back("limits were turned: " + turned);
    out.tenants = context_.turns.busiest(20);
    if (auto const& found = run_.places().rule())
        out.remarks.push_back("concurrency finds itself: " + found->explain());
    if (context_.in_flight.size() >= ceiling) {
        out.remarks.push_back("SQS gives nothing more while " + std::to_string(ceiling) + " messages are in flight");
    }
    return out;
}

/// "max_in_flight 50, no rate": what is otherwise than the options say.
std::string explainer::turned_limits() const
{
    auto const &now = context_.limits, &base = context_.options.limits;
    std::string out;
    auto const add = [&out](std::string part) { out += (out.empty() ? "" : ", ") + part; };
    auto const number = [&add](char const* name, std::optional<std::size_t> is, std::optional<std::size_t> was) {
        if (is != was) add(is ? name + (' ' + std::to_string(*is)) : std::string("no ") + name);
    };
    number("max_in_flight", now.max_in_flight, base.max_in_flight);
    number("max_bytes_in_flight", now.max_bytes_in_flight, base.max_bytes_in_flight);
    number("max_polls", now.max_polls, base.max_polls);
    number("handler_concurrency", now.handler_concurrency, base.handler_concurrency);
    if (now.rate != base.rate) add(now.rate ? "rate " + to_string(*now.rate) : "no rate");
    return out;
}

/// "receives fail, 3 in a row", "receives are refused for 95 s, 12 in a row; it gives up after 600 s".
std::string explainer::why_receives_fail(int failures, tick time) const
{
    auto const in_a_row = ", " + std::to_string(failures) + " in a row";
    auto const since = intake_.how_patient().refused_since();
    if (!since) return "receives fail" + in_a_row;
    auto const seconds = [](auto d) {
        return std::to_string(std::chrono::floor<std::chrono::seconds>(d).count()) + " s";
    };
    auto text = "receives are refused for " + seconds(time - *since) + in_a_row;
    if (auto const& limit = context_.options.give_up.after) text += "; it gives up after " + seconds(*limit);
    return text;
}

/// An outage of everything is suspected, so fewer messages are received.
bool explainer::slows(tick time)
{
    return context_.gate->rate(time).has_value();
}

std::vector<explanation::obstacle> explainer::obstacles(bool started, tick time)
{
    auto& pace = gate_.speed();
    std::vector<explanation::obstacle> out;
    if (context_.ended)
        out.push_back({"ended", "ended"});
    else if (!started)
        out.push_back({"not_started", "not started"});
    else if (context_.ending)
        out.push_back({"draining", "draining"});
    if (auto why = gate_.why_stopped(); !why.empty())
        out.push_back({gate_.is_paused() ? "paused" : run_.is_stuck() ? "handlers_hang" : "breaker", std::move(why)});
    if (slows(time)) out.push_back({"breaker", context_.gate->explain(time)});
    if (auto const& flag = gate_.flag(); flag.halts(time)) out.push_back({"flag", flag.explain(time)});
    if (gate_.places_taken() >= context_.limits.max_in_flight) {
        out.push_back({"max_in_flight",
            "max_in_flight is reached: " + std::to_string(context_.running) + " are being handled, " +
                std::to_string(context_.in_flight.size() - context_.running) + " wait or are being settled"});
    }
    if (context_.has_leases_enough()) {
        out.push_back({"leases",
            "keeping " + std::to_string(context_.leases.short_ones()) +
                " leases takes as many calls as SQS answers in their time"});
    }
    auto const coming = context_.coming;
    if (context_.bytes_room() == 0) {
        out.push_back({"max_bytes_in_flight",
            "max_bytes_in_flight leaves no room: " + std::to_string(context_.in_flight.bytes()) + " bytes of " +
                std::to_string(context_.limits.max_bytes_in_flight.value_or(0)) + " are held, " +
                std::to_string(coming) + " messages may come"});
    }
    if (!slows(time) && pace.room(coming + context_.turns.waiting(), time) == 0) {
        auto const at = pace.wake_at(context_.turns.any_may_begin());
        out.push_back({"rate",
            "rate: " + std::to_string(context_.turns.waiting()) + " messages wait for their turn, the next " +
                (at ? in_seconds(*at, time) : "when one that was asked for has come")});
    }
    if (run_.places().room_beside(context_.turns.waiting()) ==
        0) { // a receive that is open, and may bring as many, is nothing in the way
        out.push_back({"handler_concurrency",
            "handler_concurrency: " + std::to_string(context_.running) + " are being handled, no more than " +
                std::to_string(run_.places().most()) + " at once, and " + std::to_string(gate_.waiting()) +
                " wait for them"});
    }
    if (auto const at = intake_.rule().pauses_until(); at > time) {
        auto const failures = intake_.rule().failures();
        if (failures != 0)
            out.push_back(
                {"receives_fail", why_receives_fail(failures, time) + ": the next " + in_seconds(at, time)});
        else
            out.push_back(
                {"empty_answers", "an empty answer came at once: the next receive " + in_seconds(at, time)});
    }
    return out;
}

/// Handlers that run for long are no standstill.
bool explainer::all_is_being_handled(tick time) const
{
    if (context_.in_flight.size() == 0) return false;
    bool out = true;
    context_.in_flight.for_each([&](held_ptr const& h) {
        out = out && h->life.is_running() && h->turn.has_begun() && !context_.hangs(*h, time);
    });
    return out;
}

void explainer::watch_for_stall(bool started, tick time)
{
    auto const& c = context_.counters;
    auto const empty_polls_count = context_.in_flight.size() == 0;
    auto const progress = c.received + (empty_polls_count ? c.polls - c.failed_polls : 0) + c.acked + c.retried +
        c.released + c.rejected + c.lost;
    auto const on_purpose = context_.ending || (gate_.is_stopped(time) && !run_.is_stuck()) ||
        gate_.speed().wake_at(context_.turns.any_may_begin());
    if (!stall_.due(progress, on_purpose, time) || all_is_being_handled(time)) return;
    auto const quiet = std::chrono::floor<std::chrono::seconds>(time - stall_.since()).count();
    stall_log_.write(log_level::warning, "stalled",
        "nothing received and nothing settled for " + std::to_string(quiet) +
            " s: " + to_string(explain(started, time)),
        time);
}

} // namespace quern::detail
