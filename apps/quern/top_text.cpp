#include "top_text.hpp"

#include <quern/core/detail/printable.hpp>

#include <boost/json/array.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <vector>

namespace quern::app {

using namespace quern::detail;

namespace {

namespace json = boost::json;

constexpr std::size_t most_troubles = 5;

std::string words(json::value const& text)
{
    return printable(std::string(text.as_string()));
}

std::int64_t number(json::value const& n)
{
    return n.to_number<std::int64_t>();
}

std::string span(std::int64_t ms)
{
    if (ms < 1000) return fmt::format("{} ms", ms);
    if (ms < 120'000) return fmt::format("{:.1f} s", static_cast<double>(ms) / 1000);
    return fmt::format("{} min", ms / 60'000);
}

/// The time of the heartbeat, in milliseconds since the program began.
std::int64_t beat_of(json::object const& picture)
{
    return number(picture.at("up_ms")) - number(picture.at("beat_ms"));
}

json::object const* queue_in(json::object const& picture, char const* key, json::string const& name)
{
    auto const* const all = picture.if_contains("queues");
    if (!all) return nullptr;
    for (auto const& one : all->as_array())
        if (one.as_object().at(key).as_string() == name) return &one.as_object();
    return nullptr;
}

/// The bound below which that part of the durations lies.
std::string quantile(json::array const& counts, json::array const& bounds, double part)
{
    double total = 0, sum = 0;
    for (auto const& n : counts)
        total += static_cast<double>(number(n));
    for (std::size_t i = 0; i != counts.size() && total > 0; ++i) {
        sum += static_cast<double>(number(counts[i]));
        if (sum < part * total) continue;
        return i < bounds.size() ? "<= " + span(number(bounds.at(i))) : "> " + span(number(bounds.back()));
    }
    return "none";
}

std::string queue_text(json::object const* before, json::object const& q, json::array const& bounds, double seconds)
{
    auto const& said = q.at("explanation").as_object();
    auto const& counts = q.at("counts").as_object();
    auto const& stages = q.at("stages").as_object();
    auto const rate = [&](char const* what) {
        if (!before || seconds <= 0) return std::string();
        auto const more = number(counts.at(what)) - number(before->at("counts").at(what));
        return fmt::format(" ({:.1f}/s)", static_cast<double>(std::max<std::int64_t>(more, 0)) / seconds);
    };
    std::string out = "\n" + words(q.at("name")) + "\n";
    for (auto const& o : said.at("obstacles").as_array())
        out += "  ! " + words(o.at("text")) + '\n';
    if (said.at("obstacles").as_array().empty()) out += "  nothing is in the way\n";
    for (auto const& remark : said.at("remarks").as_array())
        out += "  " + words(remark) + '\n';
    out += fmt::format("  receive {}{} -> wait {} -> handle {} -> settle {}{}\n", number(stages.at("receiving")),
        rate("received"), number(stages.at("waiting")), number(stages.at("handling")), number(stages.at("settling")),
        rate("acked"));
    out += fmt::format("  received {}, deleted {}, tried again {}, rejected {}, leases lost {}\n",
        number(counts.at("received")), number(counts.at("acked")), number(counts.at("retried")),
        number(counts.at("rejected")), number(counts.at("lost")));
    auto const& durations = q.at("durations").as_object();
    for (auto const* stage : {"waited", "handled", "settling"}) {
        auto const& these = durations.at(stage).as_array();
        out += fmt::format(
            "  {:<8}  half {}, 99 of 100 {}\n", stage, quantile(these, bounds, 0.5), quantile(these, bounds, 0.99));
    }
    for (auto const& b : q.at("breakers").as_array())
        out += fmt::format("  breaker {}: {}\n", words(b.at("dependency")), words(b.at("phase")));
    if (auto const* const oldest = said.if_contains("oldest")) {
        out += fmt::format("  oldest: {}, here for {}, {}\n", words(oldest->at("message_id")),
            span(number(oldest->at("age_ms"))), words(oldest->at("state")));
    }
    std::size_t shown = 0;
    for (auto const& one : q.at("troubles").as_array()) {
        if (shown++ == most_troubles) break;
        auto const& t = one.as_object();
        out += fmt::format("  {} {}", words(t.at("at")), words(t.at("what")));
        if (auto const* const id = t.if_contains("message_id"))
            out += fmt::format(", {}, try {}", words(*id), number(t.at("attempt")));
        out += ": " + words(t.at("text")) + '\n';
    }
    return out;
}

/// "4.0" a second, of what grew from one picture to the next; empty without one before.
std::string per_second(json::value const* before, json::value const& now, double seconds)
{
    if (!before || seconds <= 0) return {};
    return fmt::format(
        "{:.1f}", static_cast<double>(std::max<std::int64_t>(number(now) - number(*before), 0)) / seconds);
}

std::string name_in(json::value const& arn)
{
    auto const all = words(arn);
    return all.substr(all.rfind(':') + 1);
}

std::string broker_text(json::object const& before, json::object const& now)
{
    auto const& traffic = now.at("traffic").as_object();
    auto const seconds =
        before.empty() ? 0.0 : static_cast<double>(number(now.at("up_ms")) - number(before.at("up_ms"))) / 1000;
    auto const requests =
        per_second(before.empty() ? nullptr : &before.at("traffic").at("requests"), traffic.at("requests"), seconds);
    auto out = fmt::format("  {}: {} requests{}, {} errors, {} connections, {} long polls\n\n", words(now.at("url")),
        number(traffic.at("requests")), requests.empty() ? "" : " (" + requests + "/s)", number(traffic.at("errors")),
        number(traffic.at("open_connections")), number(traffic.at("long_polls")));
    constexpr auto row = "  {:<32} {:>8} {:>9} {:>8} {:>9} {:>9} {:>10} {:>9}\n";
    out +=
        fmt::format(row, "queue", "visible", "in flight", "delayed", "oldest", "sent/s", "received/s", "deleted/s");
    for (auto const& one : now.at("queues").as_array()) {
        auto const& q = one.as_object();
        auto const* const known = queue_in(before, "arn", q.at("arn").as_string());
        auto const per = [&](char const* what) {
            return per_second(known ? &known->at("counts").at(what) : nullptr, q.at("counts").at(what), seconds);
        };
        auto const* const age = q.if_contains("oldest_age_ms");
        out += fmt::format(row, words(q.at("name")), number(q.at("visible")), number(q.at("in_flight")),
            number(q.at("delayed")), age ? span(number(*age)) : "", per("sent"), per("received"), per("deleted"));
        if (auto const* const to = q.if_contains("dead_letter_arn"))
            out += fmt::format("    -> {}, after {} receives\n", name_in(*to), number(q.at("max_receive_count")));
    }
    return out;
}

} // namespace

std::string top_text(json::object const& before, json::object const& now)
{
    auto const& health = now.at("health").as_object();
    auto const reason = [&](char const* what) { return words(health.at(what).at("reason")); };
    auto out = fmt::format("{}   {}   {}   up for {}\n", words(now.at("program")), reason("live"),
        number(health.at("ready").at("status")) == 200 ? "ready" : "not ready: " + reason("ready"),
        span(number(now.at("up_ms"))));
    if (now.contains("traffic")) return out + broker_text(before, now);
    auto const seconds = before.empty() ? 0.0 : static_cast<double>(beat_of(now) - beat_of(before)) / 1000;
    for (auto const& one : now.at("queues").as_array()) {
        auto const& q = one.as_object();
        out += queue_text(
            queue_in(before, "name", q.at("name").as_string()), q, now.at("bounds_ms").as_array(), seconds);
    }
    return out;
}

} // namespace quern::app
