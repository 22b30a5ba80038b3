#include "relay/relay_settings.hpp"

#include "common/duration_text.hpp"

#include <quern/core/detail/printable.hpp>
#include <quern/core/detail/text/characters.hpp>
#include <quern/core/detail/text/reading.hpp>
#include <quern/net/endpoint.hpp>

#include <algorithm>
#include <map>

namespace quern::app {

using namespace quern::detail;

namespace {

using settings = relay_settings;
using text = std::string;
using namespace std::chrono_literals;

constexpr auto fine = "";

template <class Duration>
text set_duration(Duration& to, text const& value, std::chrono::milliseconds least)
{
    auto const duration = duration_from(value);
    if (!duration || *duration < least || *duration > std::chrono::hours(12))
        return "must be a duration from " + duration_text(least) + " to 12h, 30s or 1m30s for one";
    to = *duration;
    return fine;
}

text set_statuses(relay::status_set& to, text const& value)
{
    auto set = relay::status_set::parse(value);
    if (!set) return set.error().message;
    to = *set;
    return fine;
}

text set_number(std::size_t& to, text const& value, std::size_t least, std::size_t most)
{
    auto const out = quern::detail::text::number_in<std::size_t>(value);
    if (!out || *out < least || *out > most)
        return "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most);
    to = *out;
    return fine;
}

template <class Text>
text set_text(Text& to, text const& value)
{
    to = value;
    return fine;
}

text set_path(text& to, text const& value)
{
    return value.empty() ? "must not be empty" : set_text(to, value);
}

/// One of the names; `what` says what they are.
template <class T>
text set_choice(T& to, text const& value, std::map<std::string_view, T> const& names)
{
    auto const found = names.find(value);
    if (found != names.end()) {
        to = found->second;
        return fine;
    }
    text list;
    for (auto const& [name, meaning] : names)
        list += (list.empty() ? "" : ", ") + text(name);
    return "must be one of " + list;
}

text set_url(settings& s, text const& value)
{
    auto url = relay::url_template::parse(value);
    if (!url) {
        auto const of_user = url.error().message.find("user name") != text::npos;
        return "is none that can be used: " + url.error().message +
            (of_user ? "; --basic-file has user and password, for Authorization: Basic" : "");
    }
    s.relay.request.url = std::move(*url);
    s.url = net::shown_url(value);
    return fine;
}

text set_route(settings& s, text const& value)
{
    auto const equals = value.find('=');
    auto url = relay::url_template::parse(equals == value.npos ? "" : value.substr(equals + 1));
    if (equals == value.npos || equals == 0) return "must be QUEUE=URL, as mails=http://localhost:8080/mails";
    if (!url) return "has a URL that cannot be used: " + url.error().message;
    s.routes.push_back({value.substr(0, equals), std::move(*url)});
    return fine;
}

text set_header_sets(settings& s, text const& value)
{
    std::map<std::string_view, relay::header_set> const names{{"quern", relay::header_set::quern},
        {"carrier", relay::header_set::carrier}, {"sqsd", relay::header_set::sqsd}};
    std::vector<relay::header_set> chosen;
    std::string_view rest = value == "none" ? std::string_view() : std::string_view(value);
    while (!rest.empty()) {
        auto const found = names.find(quern::detail::text::take_piece(rest, ','));
        if (found == names.end()) return "must be quern, carrier or sqsd, several with commas between, or none";
        chosen.push_back(found->second);
    }
    s.relay.request.headers = std::move(chosen);
    return fine;
}

text set_header_line(settings& s, text const& value)
{
    auto const colon = value.find(':');
    if (colon == value.npos) return "must be a header, 'Name: value'";
    return set_header(s, value.substr(0, colon), value.substr(colon + 1));
}

text set_dependency(settings& s, text const& value)
{
    auto by = relay::text_template::parse(value);
    if (!by) return "is none that can be used: " + by.error().message;
    s.dependency = std::move(*by);
    return fine;
}

text set_share(settings& s, text const& value)
{
    auto const share = quern::detail::text::number_in<double>(value);
    if (!share || !(*share >= 0 && *share <= 1))
        return "must be a number from 0 to 1, the share of the usual requests that go on while an outage is "
               "suspected";
    s.breaker.share = *share;
    return fine;
}

text set_statistics(settings& s, text const& value)
{
    s.statistics_every.reset();
    return value == "none" ? fine : set_duration(s.statistics_every, value, 1s);
}

text set_size(std::size_t& to, text const& value)
{
    auto const bytes = bytes_from(value);
    if (!bytes || *bytes < 1 || *bytes > (std::uint64_t(1) << 30)) return "must be a size up to 1GiB, 1MiB for one";
    to = *bytes;
    return fine;
}

text set_health_url(settings& s, text const& value)
{
    auto const url = net::parse_url(value);
    if (!url) return "is none that can be used: " + url.error().message;
    s.health.url = *url;
    s.checks_health = true;
    return fine;
}

text set_flag(bool& to, text const& value)
{
    return set_choice<bool>(to, value, {{"true", true}, {"false", false}});
}

relay::oauth2_options& oauth2_of(settings& s)
{
    return s.relay.oauth2 ? *s.relay.oauth2 : s.relay.oauth2.emplace();
}

text set_token_url(settings& s, text const& value)
{
    auto const url = net::parse_url(value);
    if (!url) return "is none that can be used: " + url.error().message;
    oauth2_of(s).token_url = *url;
    return fine;
}

using relay::body_format;

constexpr relay_setting table[] = {
    {"queue", "", "", "", [](settings& s, text const& v) { return set_path(s.queue, v); }},
    {"url", "", "", "", set_url},
    {"routes", "--route", "QUEUE=URL",
        "Another queue, whose messages go to this URL, by the same settings; may be given again", set_route},
    {"method", "--method", "NAME", "Method of the request; default POST",
        [](settings& s, text const& v) { return set_text(s.relay.request.method, v); }},
    {"format", "--format", "FORMAT",
        "Form of the body: raw, sns, sns-message, cloudevents, cloudevents-structured or lambda, see below; default "
        "raw",
        [](settings& s, text const& v) {
            return set_choice<body_format>(s.relay.request.format, v,
                {{"raw", body_format::raw}, {"sns", body_format::sns}, {"sns-message", body_format::sns_message},
                    {"cloudevents", body_format::cloudevents},
                    {"cloudevents-structured", body_format::cloudevents_structured},
                    {"lambda", body_format::lambda}});
        }},
    {"header_sets", "--headers", "SETS",
        "Headers that tell of the message: quern, carrier, sqsd, or none; default quern", set_header_sets},
    {"header", "--header", "'NAME: VALUE'", "Another header, with places to fill; may be given again",
        set_header_line},
    {"content_type", "--content-type", "TYPE",
        "Content type of bodies, unless the message has an attribute Body.ContentType; default application/json",
        [](settings& s, text const& v) { return set_text(s.relay.request.content_type, v); }},
    {"timeout", "--timeout", "DURATION", "Time for a request, to the last byte of the answer; default 30s",
        [](settings& s, text const& v) { return set_duration(s.relay.timeout, v, 1ms); }},
    {"connect_timeout", "--connect-timeout", "DURATION",
        "Time for look-up, connect and TLS handshake, within --timeout; default 5s",
        [](settings& s, text const& v) { return set_duration(s.web.connect_timeout, v, 1ms); }},
    {"keep_alive", "--keep-alive", "DURATION",
        "Use a connection again until it was idle for so long: less than the service keeps it, 5s with Node; 0s: for "
        "one request each; default 15s",
        [](settings& s, text const& v) { return set_duration(s.web.idle_timeout, v, 0ms); }},
    {"max_response", "--max-response", "SIZE", "Largest body of an answer; default 1MiB",
        [](settings& s, text const& v) { return set_size(s.web.max_answer_bytes, v); }},
    {"unix_socket", "--unix-socket", "PATH", "Connect to this socket; the URL still gives Host and path",
        [](settings& s, text const& v) { return set_path(s.relay.unix_socket, v); }},
    {"http_proxy", "--http-proxy", "URL",
        "Proxy to go through; '' for none; default HTTP_PROXY, HTTPS_PROXY, NO_PROXY",
        [](settings& s, text const& v) { return set_text(s.web.proxy, v); }},
    {"tls.ca", "--ca", "FILE", "Certificates of the authorities to trust; default the system's",
        [](settings& s, text const& v) { return set_path(s.web.ca_file, v); }},
    {"tls.cert", "--client-cert", "FILE", "Certificate to show; read again when it changes",
        [](settings& s, text const& v) { return set_path(s.web.certificate_file, v); }},
    {"tls.key", "--client-key", "FILE", "Its key, unless that is in the same file",
        [](settings& s, text const& v) { return set_path(s.web.key_file, v); }},
    {"tls.min", "--tls-min", "VERSION", "Oldest version of TLS to accept, 1.2 or 1.3; default 1.2",
        [](settings& s, text const& v) {
            return set_choice<net::tls_version>(
                s.web.min_tls, v, {{"1.2", net::tls_version::v1_2}, {"1.3", net::tls_version::v1_3}});
        }},
    {"tls.insecure", "--insecure", "", "Believe any certificate: for tests",
        [](settings& s, text const& v) { return set_flag(s.web.insecure, v); }},
    {"bearer_file", "--bearer-file", "FILE", "A token, for Authorization: Bearer; read again when it changes",
        [](settings& s, text const& v) { return set_path(s.relay.bearer_file, v); }},
    {"basic_file", "--basic-file", "FILE", "user:password, for Authorization: Basic; read again when it changes",
        [](settings& s, text const& v) { return set_path(s.relay.basic_file, v); }},
    {"sign.secret_files", "--sign-file", "FILE",
        "A secret of Standard Webhooks (whsec_...); given again, each signs, so that they can be exchanged",
        [](settings& s, text const& v) { return set_path(s.relay.secret_files.emplace_back(), v); }},
    {"sign.ed25519_files", "--sign-ed25519", "FILE",
        "A private key of Ed25519, PEM or whsk_...: signs by Standard Webhooks (v1a), beside --sign-file; may be "
        "given "
        "again",
        [](settings& s, text const& v) { return set_path(s.relay.ed25519_files.emplace_back(), v); }},
    {"oauth2.token_url", "--oauth2-token-url", "URL",
        "Get a token here, by client credentials, for Authorization: Bearer, and anew before it ends; default: none",
        set_token_url},
    {"oauth2.client_id", "--oauth2-client-id", "ID", "The client that the token is for",
        [](settings& s, text const& v) { return set_path(oauth2_of(s).client_id, v); }},
    {"oauth2.secret_file", "--oauth2-secret-file", "FILE",
        "Its secret; read again when it changes; default: that in the variable QUERN_OAUTH2_SECRET",
        [](settings& s, text const& v) { return set_path(oauth2_of(s).secret_file, v); }},
    {"oauth2.scope", "--oauth2-scope", "SCOPES",
        "Ask for these, several with blanks between; default: what the server gives unasked",
        [](settings& s, text const& v) { return set_path(oauth2_of(s).scope, v); }},
    {"oauth2.audience", "--oauth2-audience", "TEXT", "Ask for a token for this audience; default: none",
        [](settings& s, text const& v) { return set_path(oauth2_of(s).audience, v); }},
    {"oauth2.secret_in_body", "--oauth2-secret-in-body", "",
        "Send id and secret in the body, as some servers want it, and not as Authorization: Basic",
        [](settings& s, text const& v) { return set_flag(oauth2_of(s).secret_in_body, v); }},
    {"sign.scheme", "", "", "",
        [](settings&, text const& v) { return text(v == "standard-webhooks" ? fine : "must be standard-webhooks"); }},
    {"success", "--success", "STATUSES", "Statuses that delete the message; default 2xx",
        [](settings& s, text const& v) { return set_statuses(s.relay.outcome.success, v); }},
    {"retry", "--retry", "STATUSES", "Statuses after which a retry may help; default 408,425,429,5xx",
        [](settings& s, text const& v) { return set_statuses(s.relay.outcome.retry, v); }},
    {"reject", "--reject", "STATUSES",
        "Statuses that reject the message for good: to the --poison-queue, else the dead-letter queue; default none",
        [](settings& s, text const& v) { return set_statuses(s.relay.outcome.reject, v); }},
    {"unavailable", "--unavailable", "STATUSES",
        "Statuses that say nothing of the message: the service is down; default 401,403,407,410,502-504",
        [](settings& s, text const& v) { return set_statuses(s.relay.outcome.unavailable, v); }},
    {"retry_after_max", "--retry-after-max", "DURATION",
        "Longest delay that an answer may ask for with Retry-After; a longer one is cut to it; default 12h",
        [](settings& s, text const& v) { return set_duration(s.relay.outcome.longest_asked, v, 1s); }},
    {"reply.queue", "--reply-queue", "QUEUE",
        "Where bodies of answers go, before the message is deleted; URL, name or ARN",
        [](settings& s, text const& v) { return set_path(s.reply_queue, v); }},
    {"concurrency", "--concurrency", "N",
        "Most requests at once; auto: as many as bring more, 200 at most; default 50",
        [](settings& s, text const& v) {
            s.finds_concurrency = v == "auto";
            return set_number(s.concurrency, s.finds_concurrency ? "200" : v, 1, 10'000);
        }},
    {"batch", "--batch", "N",
        "With --format lambda: most messages in a request; URL and headers have no places then; default 1",
        [](settings& s, text const& v) {
            auto wrong = set_number(s.batch, v, 1, 10'000);
            s.relay.batches = s.batch > 1;
            return wrong;
        }},
    {"batch_window", "--batch-window", "DURATION",
        "With --batch: time for which the first message waits for others; default: none",
        [](settings& s, text const& v) { return set_duration(s.batch_window, v, 1ms); }},
    {"batch_bytes", "--batch-bytes", "SIZE",
        "With --batch: most bytes of bodies in a request; a longer one goes alone; default 4MiB",
        [](settings& s, text const& v) { return set_size(s.batch_bytes, v); }},
    {"carrier_time", "--carrier-time", "UNIT", "Unit of X-Carrier-First-Receive-Time: s or ms; default s",
        [](settings& s, text const& v) {
            return set_choice<bool>(s.relay.request.carrier_milliseconds, v, {{"s", false}, {"ms", true}});
        }},
    {"dependency", "--dependency", "TEMPLATE",
        "Each value of it is a service of its own, for outages: {{attr.tenant}}", set_dependency},
    {"breaker.share", "", "", "", set_share},
    {"health.url", "--health-url", "URL", "GET this, now and then, and stand back while it fails; a hint only",
        set_health_url},
    {"health.interval", "--health-interval", "DURATION", "Time between two checks; default 10s",
        [](settings& s, text const& v) { return set_duration(s.health.interval, v, 100ms); }},
    {"health.timeout", "--health-timeout", "DURATION", "Time for a check; default 2s",
        [](settings& s, text const& v) { return set_duration(s.health.timeout, v, 1ms); }},
    {"health.down_after", "--health-threshold", "N", "Failed checks in a row that mean it is down; default 3",
        [](settings& s, text const& v) { return set_number(s.health.down_after, v, 1, 1'000); }},
    {"health.up_after", "", "", "",
        [](settings& s, text const& v) { return set_number(s.health.up_after, v, 1, 1'000); }},
    {"health.wait", "--wait-healthy", "DURATION",
        "Wait at most so long for a good check at the start, else end; default: no wait",
        [](settings& s, text const& v) { return set_duration(s.wait_healthy, v, 1ms); }},
    {"stats", "--stats", "DURATION", "Log a line of what was done, so often; none: never; default 2m",
        set_statistics},
};

} // namespace

std::string set_header(relay_settings& s, std::string_view name, std::string_view value)
{
    auto header = relay::header_template::parse(name, value);
    if (!header) return "is none that can be sent: " + printable(header.error().message);
    auto& all = s.relay.request.extra;
    std::erase_if(all, [&](auto const& other) { return quern::detail::text::equal_ignoring_case(other.name, name); });
    all.push_back(std::move(*header));
    return fine;
}

std::span<relay_setting const> all_relay_settings()
{
    return table;
}

std::string set_setting(relay_settings& s, std::string_view key, std::string const& value)
{
    return std::ranges::find(table, key, &relay_setting::key)->set(s, value);
}

std::string relay_settings::conflict() const
{
    if (queue.empty()) return "a QUEUE is needed";
    if (url.empty()) return "a URL is needed";
    if (!web.key_file.empty() && web.certificate_file.empty()) return "--client-key needs --client-cert";
    if (auto const wrong = relay.validate()) return wrong->message;
    if (auto const wrong = web.validate()) return wrong->message;
    if (batch_window && batch == 1) return "--batch-window needs --batch";
    if (batch > 1 && !dependency.is_empty())
        return "--batch does not go with --dependency: one request goes to one service";
    if (batch > 1 && !reply_queue.empty())
        return "--batch does not go with --reply-queue: its answer says which messages have failed";
    if (batch * concurrency > 120'000) return "--batch x --concurrency must be 120000 at most";
    if (wait_healthy && !checks_health) return "--wait-healthy needs --health-url";
    return fine;
}

} // namespace quern::app
