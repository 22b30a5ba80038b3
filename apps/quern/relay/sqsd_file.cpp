#include "relay/sqsd_file.hpp"
#include "relay/periodic_tasks.hpp"

#include <quern/core/detail/text/reading.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <optional>

namespace quern::app {
namespace {

using std::string;

/// The address of the worker, in parts.
struct worker_url {
    string whole, port = "80", path = "/";

    string text() const
    {
        return whole.empty() ? "http://localhost:" + port + path : whole + (path == "/" ? "" : path);
    }
};

struct reading {
    relay_settings& into;
    worker_url at;
    bool names_worker = false;
};

/// A key of the file: a setting of the relay, with a unit behind its number, or what `take` makes of it: that returns
/// what is wrong as the end of a sentence.
struct sqsd_key {
    std::string_view name;
    std::string_view setting = {};
    char const* unit = "";
    string (*take)(reading&, string const&) = nullptr;
};

std::optional<std::chrono::seconds> seconds_in(string const& value, int least, int most)
{
    auto const out = quern::detail::text::number_in<int>(value);
    if (!out || *out < least || *out > most) return {};
    return std::chrono::seconds(*out);
}

/// Negative: the queue's own visibility timeout decides, here the backoff.
string take_error_timeout(reading& r, string const& value)
{
    auto const after = seconds_in(value, -1'000'000, 43'200);
    if (!after) return "must be a number of seconds up to 43200";
    r.into.relay.outcome.usual_delay.reset();
    if (after->count() >= 0) r.into.relay.outcome.usual_delay = *after;
    return "";
}

string take_visibility(reading& r, string const& value)
{
    auto const time = seconds_in(value, 0, 43'200);
    if (!time) return "must be a number of seconds from 0 to 43200";
    r.into.visibility_timeout = std::max(*time, std::chrono::seconds(3)); // leases are extended while a request runs
    return "";
}

string take_retention(reading& r, string const& value)
{
    auto const time = seconds_in(value, 1, 1'209'600);
    if (!time) return "must be a number of seconds from 1 to 1209600";
    r.into.max_age = *time;
    return "";
}

constexpr sqsd_key keys[] = {
    {"queue_url", "queue"},
    {"http_url", {}, "",
        [](reading& r, string const& v) {
            r.names_worker = true;
            r.at.whole = v;
            return string();
        }},
    {"http_port", {}, "",
        [](reading& r, string const& v) {
            r.names_worker = true;
            r.at.port = v;
            return string();
        }},
    {"http_path", {}, "",
        [](reading& r, string const& v) {
            r.names_worker = true;
            r.at.path = v.starts_with('/') ? v : '/' + v;
            return string();
        }},
    {"http_connections", "concurrency"},
    {"threads", "concurrency"},
    {"mime_type", "content_type"},
    {"connect_timeout", "connect_timeout", "s"},
    {"inactivity_timeout", "timeout", "s"},
    {"visibility_timeout", {}, "", take_visibility},
    {"error_visibility_timeout", {}, "", take_error_timeout},
    {"retention_period", {}, "", take_retention},
};

/// The value of a line without its quotes and its comment.
string plain(std::string_view value)
{
    value = quern::detail::text::trimmed(value);
    if (value.size() > 1 && (value.front() == '"' || value.front() == '\'')) {
        auto const close = value.find(value.front(), 1);
        return string(value.substr(1, close == value.npos ? value.npos : close - 1));
    }
    return string(quern::detail::text::trimmed(value.substr(0, value.find(" #"))));
}

} // namespace

result<void> read_sqsd_file(
    std::string_view document, std::string_view file, relay_settings& into, std::vector<std::string>& warnings)
{
    reading r{into, {}, false};
    int number = 0;
    while (!document.empty()) {
        ++number;
        auto const end = document.find('\n');
        auto const line = quern::detail::text::trimmed(document.substr(0, end), " \t\r");
        document.remove_prefix(end == document.npos ? document.size() : end + 1);
        auto const colon = line.find(':', line.starts_with(':') ? 1 : 0); // Ruby writes ":key: value"
        if (line.empty() || line.starts_with('#') || line.starts_with("---")) continue;
        if (colon == line.npos)
            return failure(errc::invalid_option, fmt::format("{}, line {}: no \"key: value\"", file, number));
        auto const name = line.substr(line.starts_with(':') ? 1 : 0, colon - (line.starts_with(':') ? 1 : 0));
        auto const value = plain(line.substr(colon + 1));
        auto const known = std::ranges::find(keys, name, &sqsd_key::name);
        if (known == std::end(keys)) {
            warnings.push_back(fmt::format("{}: {} is not known here and changes nothing", file, name));
            continue;
        }
        auto const why = known->take ? known->take(r, value) : set_setting(into, known->setting, value + known->unit);
        if (!why.empty())
            return failure(errc::invalid_option, fmt::format("{}, line {}: {} {}", file, number, name, why));
    }
    if (r.names_worker) {
        if (auto const why = set_setting(into, "url", r.at.text()); !why.empty())
            return failure(errc::invalid_option, fmt::format("{}: the URL {} {}", file, r.at.text(), why));
    }
    return {};
}

result<std::vector<periodic_task>> read_cron_file(std::string_view document, std::string_view file)
{
    struct told {
        int line = 0;
        string name, url, schedule;
    };
    std::vector<told> tasks;
    int number = 0;
    while (!document.empty()) {
        ++number;
        auto const end = document.find('\n');
        auto line = quern::detail::text::trimmed(document.substr(0, end), " \t\r");
        document.remove_prefix(end == document.npos ? document.size() : end + 1);
        if (line.empty() || line.starts_with('#') || line.starts_with("---")) continue;
        if (line.starts_with("- ")) {
            tasks.push_back({number, {}, {}, {}});
            line = quern::detail::text::trimmed(line.substr(2));
        }
        auto const colon = line.find(':');
        if (colon == line.npos)
            return failure(errc::invalid_option, fmt::format("{}, line {}: no \"key: value\"", file, number));
        auto const key = line.substr(0, colon);
        auto value = plain(line.substr(colon + 1));
        if (tasks.empty()) continue; // version, and the word cron
        auto& last = tasks.back();
        if (key == "name") last.name = std::move(value);
        if (key == "url") last.url = std::move(value);
        if (key == "schedule") last.schedule = std::move(value);
    }
    std::vector<periodic_task> out;
    for (auto& one : tasks) {
        auto const where = fmt::format("{}, line {}: ", file, one.line);
        if (one.name.empty() || !one.url.starts_with('/'))
            return failure(errc::invalid_option, where + "a task needs a name, and a url that begins with a slash");
        auto when = cron_schedule::parse(one.schedule);
        if (!when)
            return failure(errc::invalid_option, where + "the schedule of " + one.name + ' ' + when.error().message);
        out.push_back({std::move(one.name), std::move(one.url), *when});
    }
    return out;
}

} // namespace quern::app
