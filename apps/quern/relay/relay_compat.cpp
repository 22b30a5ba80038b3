#include "relay/relay_compat.hpp"

#include "common/duration_text.hpp"
#include "common/toml_reader.hpp"
#include "relay/sqsd_file.hpp"

#include <quern/core/detail/text/reading.hpp>

#include <algorithm>
#include <map>
#include <span>
#include <unistd.h>

namespace quern::app {

using namespace quern::detail;

namespace {

using settings = relay_settings;
using std::string;

/// A variable: a setting, or what `take` makes of it, which returns what is wrong as the end of a sentence. One that
/// has neither asks for what this relay does not do, and is refused.
struct variable {
    std::string_view name;
    std::string_view key = {}; ///< of the setting
    string (*take)(settings&, string const& value) = nullptr;
    char const* refusal = nullptr;
};

std::optional<int> whole(string const& value)
{
    auto const out = text::number_in<int>(value);
    return out && *out >= 0 ? out : std::nullopt;
}

std::optional<bool> truth(string const& value)
{
    for (auto const* yes : {"1", "t", "T", "TRUE", "true", "True"})
        if (value == yes) return true;
    for (auto const* no : {"0", "f", "F", "FALSE", "false", "False"})
        if (value == no) return false;
    return {};
}

/// "60000" with the unit "ms"
string set_time(settings& s, std::string_view key, string const& value, char const* unit)
{
    if (!whole(value)) return "must be a whole number";
    return set_setting(s, key, value + unit);
}

string number_only(settings&, string const& value)
{
    return whole(value) ? "" : "must be a whole number";
}

string truth_only(settings&, string const& value)
{
    return truth(value) ? "" : "must be true or false";
}

string insecure_if(settings& s, string const& value, bool meant)
{
    auto const said = truth(value);
    if (!said) return "must be true or false";
    s.web.insecure = *said == meant;
    return "";
}

string set_endpoint(settings& s, string const& value)
{
    s.endpoint = value;
    return "";
}

string set_region(settings& s, string const& value)
{
    s.region = value;
    return "";
}

string set_wait_time(settings& s, string const& value)
{
    s.wait_time = whole(value);
    return s.wait_time && *s.wait_time <= 20 ? "" : "must be a whole number from 0 to 20";
}

string taken_later(settings&, string const&)
{
    return "";
}

constexpr variable carrier[] = {
    {"CARRIER_SQS_ENDPOINT", {}, set_endpoint}, {"CARRIER_SQS_QUEUE_NAME", "queue"},
    {"CARRIER_SQS_BATCH_SIZE", {}, number_only}, // these three say how much goes on at once
    {"CARRIER_SQS_RECEIVERS", {}, number_only}, {"CARRIER_SQS_RECEIVER_WORKERS", {}, number_only},
    {"CARRIER_WEBHOOK_ENDPOINT", "url"}, {"CARRIER_WEBHOOK_REQUEST_TIMEOUT", "timeout"},
    {"CARRIER_WEBHOOK_DEFAULT_CONTENT_TYPE", "content_type"},
    {"CARRIER_WEBHOOK_TLS_INSECURE_SKIP_VERIFY", {},
        [](settings& s, string const& v) { return insecure_if(s, v, true); }},
    {"CARRIER_WEBHOOK_HEALTH_CHECK_ENDPOINT", "health.url"},
    {"CARRIER_WEBHOOK_HEALTH_CHECK_INTERVAL", "health.interval"},
    {"CARRIER_WEBHOOK_HEALTH_CHECK_TIMEOUT", "health.timeout"},
    {"CARRIER_WEBHOOK_OFFLINE_THRESHOLD_COUNT", "health.down_after"},              // as carrier's main.go has it
    {"CARRIER_WEBHOOK_HEALTH_CHECK_OFFLINE_THRESHOLD_COUNT", "health.down_after"}, // as one expects after the others
    {"CARRIER_ENABLE_STAT_LOG", {}, truth_only}, {"CARRIER_STAT_LOG_TIMER", "stats"},
    {"CARRIER_ENABLE_COLORIZED_LOGGING", {}, truth_only}, // colours go by the terminal
};

constexpr variable sqsd[] = {
    {"SQSD_QUEUE_URL", "queue"},
    {"SQSD_QUEUE_NAME", "queue"},
    {"SQSD_QUEUE_REGION_NAME", {}, set_region},
    {"SQSD_QUEUE_REGION", {}, set_region},
    {"SQSD_ENDPOINT_URL", {}, set_endpoint},
    {"SQSD_MAX_MESSAGES_PER_REQUEST", {}, number_only}, // receives ask for as many as there is room for
    {"SQSD_QUEUE_MAX_MSGS", {}, number_only},
    {"SQSD_SLEEP_SECONDS", {}, number_only}, // receives wait for messages
    {"SQSD_RUN_DAEMONIZED", {},
        [](settings&, string const& v) {
            return string(
                v == "1" ? "" : "must be 1; to end when the queue is empty unset it, and say --until-empty");
        }},
    {"SQSD_WAIT_TIME_SECONDS", {}, set_wait_time},
    {"SQSD_QUEUE_WAIT_TIME", {}, set_wait_time},
    {"SQSD_WORKER_HTTP_URL", "url"},
    {"SQSD_HTTP_URL", "url"},
    {"SQSD_WORKER_HTTP_REQUEST_CONTENT_TYPE", "content_type"},
    {"SQSD_HTTP_CONTENT_TYPE", "content_type"},
    {"SQSD_WORKER_TIMEOUT", {}, [](settings& s, string const& v) { return set_time(s, "timeout", v, "ms"); }},
    {"SQSD_HTTP_TIMEOUT", {}, [](settings& s, string const& v) { return set_time(s, "timeout", v, "s"); }},
    {"SQSD_WORKER_CONCURRENCY", "concurrency"},
    {"SQSD_HTTP_MAX_CONNS", "concurrency"},
    {"SQSD_HTTP_USER_AGENT", {}, [](settings& s, string const& v) { return set_header(s, "User-Agent", v); }},
    {"SQSD_HTTP_SSL_VERIFY", {}, [](settings& s, string const& v) { return insecure_if(s, v, false); }},
    {"SQSD_HTTP_AUTHORIZATION_HEADER", {}, taken_later}, // with the others that go together
    {"SQSD_HTTP_AUTHORIZATION_HEADER_NAME", {}, taken_later},
    {"SQSD_HTTP_HMAC_HEADER", {}, taken_later},
    {"SQSD_HMAC_SECRET_KEY", {}, taken_later},
    {"SQSD_WORKER_HEALTH_URL", "health.url"},
    {"SQSD_WORKER_HEALTH_WAIT_TIME", {},
        [](settings& s, string const& v) { return set_time(s, "health.interval", v, "ms"); }},
    {"SQSD_HTTP_HEALTH_PATH", {}, taken_later},
    {"SQSD_HTTP_HEALTH_WAIT", {}, number_only}, // the first check is at once
    {"SQSD_HTTP_HEALTH_INTERVAL", {},
        [](settings& s, string const& v) { return set_time(s, "health.interval", v, "s"); }},
    {"SQSD_HTTP_HEALTH_SUCCESS_COUNT", "health.up_after"},
    {"SQSD_CRON_FILE", {}, nullptr,
        "asks for periodic tasks; unset it, and give --sqsd-cron a cron.yaml, or let a scheduler send their "
        "messages"},
};

failure wrong(std::string_view name, string const& why)
{
    return {errc::invalid_option, string(name) + " " + why};
}

/// Requests at once, as carrier counts them: loops of receives, and in each as many as it says, or as one receive
/// brings.
result<void> count_carriers(aws::environment const& from, settings& into)
{
    auto const number = [&](char const* name) { return std::max(whole(from(name)).value_or(1), 0); };
    auto const workers = from("CARRIER_SQS_RECEIVER_WORKERS") == "0" ? number("CARRIER_SQS_BATCH_SIZE")
                                                                     : number("CARRIER_SQS_RECEIVER_WORKERS");
    auto const why = set_setting(into, "concurrency", std::to_string(number("CARRIER_SQS_RECEIVERS") * workers));
    if (!why.empty()) return wrong("CARRIER_SQS_RECEIVERS x CARRIER_SQS_RECEIVER_WORKERS", why);
    return {};
}

/// Takes up the variables of simple-sqsd that mean something together.
result<void> join_sqsds(aws::environment const& from, settings& into)
{
    auto const url = from("SQSD_HTTP_URL");
    into.relay.request.hmac = {from("SQSD_HTTP_HMAC_HEADER"), from("SQSD_HMAC_SECRET_KEY"), url};
    auto const& hmac = into.relay.request.hmac;
    if (hmac.header.empty() != hmac.secret.empty())
        return wrong(hmac.header.empty() ? "SQSD_HMAC_SECRET_KEY" : "SQSD_HTTP_HMAC_HEADER",
            "needs SQSD_HTTP_HMAC_HEADER and SQSD_HMAC_SECRET_KEY, both of them");
    if (!hmac.header.empty() && url.empty()) return wrong("SQSD_HTTP_HMAC_HEADER", "needs SQSD_HTTP_URL");
    auto const header = from("SQSD_HTTP_AUTHORIZATION_HEADER");
    auto const name = from("SQSD_HTTP_AUTHORIZATION_HEADER_NAME");
    if (!header.empty()) {
        auto const why = set_header(into, name.empty() ? string("Authorization") : name, header);
        if (!why.empty()) return wrong("SQSD_HTTP_AUTHORIZATION_HEADER", why);
    }
    auto const path = from("SQSD_HTTP_HEALTH_PATH");
    if (path.empty()) return {};
    if (url.empty()) return wrong("SQSD_HTTP_HEALTH_PATH", "needs SQSD_HTTP_URL");
    auto const why =
        set_setting(into, "health.url", into.relay.request.url.origin() + (path.starts_with('/') ? "" : "/") + path);
    if (!why.empty()) return wrong("SQSD_HTTP_HEALTH_PATH", why);
    return {};
}

result<void> read_file_of_daemon(string path, settings& into, std::vector<string>& warnings)
{
    if (path.empty() && ::access(usual_sqsd_file, R_OK) == 0) path = usual_sqsd_file;
    if (path.empty()) return {};
    auto const text = text_of_file("--sqsd-config", path);
    if (!text) return text.error();
    return read_sqsd_file(*text, path, into, warnings);
}

/// Requests at once, and their time, as the program has them whose variables these are; without any, as Elastic
/// Beanstalk's daemon.
void take_defaults_of_sqsd(std::vector<std::string> const& names, settings& into)
{
    auto const has = [&](std::string_view begin) {
        return std::ranges::any_of(names, [&](auto const& name) { return name.starts_with(begin); });
    };
    into.relay.timeout = std::chrono::seconds(299);
    into.concurrency = 50;
    if (has("SQSD_WORKER_")) { // mogadanez/sqsd
        into.relay.timeout = std::chrono::seconds(60);
        into.concurrency = 3;
    } else if (has("SQSD_HTTP_")) { // fterrag/simple-sqsd
        into.relay.timeout = std::chrono::seconds(15);
        into.concurrency = 25;
    }
}

} // namespace

result<void> read_compat(std::string const& profile, aws::environment const& from,
    std::vector<std::string> const& names, std::string const& sqsd_config, settings& into,
    std::vector<std::string>& warnings)
{
    bool const is_carrier = profile == "carrier";
    auto const known = is_carrier ? std::span<variable const>(carrier) : std::span<variable const>(sqsd);
    into.relay.outcome.success = relay::status_set("200");
    if (is_carrier) {
        into.relay.request.headers = {relay::header_set::carrier};
        into.relay.timeout = std::chrono::seconds(60);
        into.heeds_refusals = false; // carrier asks as often as before
        if (auto const why = set_setting(into, "url", "http://localhost:9000"); !why.empty())
            return wrong("url", why);
    } else {
        into.relay.request.headers = {relay::header_set::sqsd};
        into.relay.request.sqsd_path = true;
        into.relay.outcome.usual_delay = std::chrono::seconds(2);
        take_defaults_of_sqsd(names, into);
        if (auto const read = read_file_of_daemon(sqsd_config, into, warnings); !read) return read;
    }
    for (auto const& one : known) {
        auto const value = from(string(one.name).c_str());
        if (value.empty()) continue;
        if (one.refusal) return wrong(one.name, one.refusal);
        auto const why = one.take ? one.take(into, value) : set_setting(into, one.key, value);
        if (!why.empty()) return wrong(one.name, why);
    }
    if (auto const joined = is_carrier ? result<void>() : join_sqsds(from, into); !joined) return joined;
    if (is_carrier) {
        if (auto const counted = count_carriers(from, into); !counted) return counted;
        into.health.healthy = relay::status_set("200");
        if (from("CARRIER_WEBHOOK_HEALTH_CHECK_INTERVAL").empty()) into.health.interval = std::chrono::seconds(60);
        if (from("CARRIER_WEBHOOK_HEALTH_CHECK_TIMEOUT").empty()) into.health.timeout = std::chrono::seconds(10);
        if (from("CARRIER_WEBHOOK_OFFLINE_THRESHOLD_COUNT").empty() &&
            from("CARRIER_WEBHOOK_HEALTH_CHECK_OFFLINE_THRESHOLD_COUNT").empty())
            into.health.down_after = 5;
        if (!truth(from("CARRIER_ENABLE_STAT_LOG")).value_or(false)) into.statistics_every = {};
    }
    for (auto const& name : names) {
        bool const ours = name.starts_with(is_carrier ? "CARRIER_" : "SQSD_");
        if (ours && std::ranges::find(known, name, &variable::name) == known.end())
            warnings.push_back(name + " is not known here and changes nothing");
    }
    return {};
}

} // namespace quern::app
