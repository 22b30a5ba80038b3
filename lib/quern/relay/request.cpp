#include <quern/relay/request.hpp>

#include <quern/core/detail/text/base64.hpp>
#include <quern/core/detail/text/characters.hpp>
#include <quern/core/detail/text/date.hpp>
#include <quern/net/web_hook.hpp>
#include <quern/relay/detail/body.hpp>
#include <quern/relay/signature.hpp>

#include <algorithm>
#include <chrono>

namespace quern::relay {

using namespace quern::detail;

namespace {

constexpr std::string_view type_attribute = "Body.ContentType"; // carrier's
constexpr std::string_view path_attribute = "beanstalk.sqsd.path";
constexpr std::size_t longest_value = 4096; // a server takes 8 KiB of headers, of all of them in some

bool is_printable(char c)
{
    return c >= ' ' && c <= '~';
}

void append_percent(std::string& out, char c)
{
    constexpr std::string_view digits = "0123456789ABCDEF";
    auto const byte = static_cast<unsigned char>(c);
    out += '%';
    out += digits[byte >> 4];
    out += digits[byte & 15];
}

/// As CloudEvents' binding to HTTP wants it.
std::string cloudevent_value(std::string_view text)
{
    std::string out;
    for (char const c : text) {
        if (c > ' ' && c <= '~' && c != '"' && c != '%')
            out += c;
        else
            append_percent(out, c);
    }
    return out;
}

/// Collects headers: the first of a name stays, and when it is one that the user has chosen that is no loss.
class collector {
public:
    explicit collector(hook_request& to) : to_(to) {}

    void add(std::string_view name, std::string_view value)
    {
        if (auto const at = find(name); at != to_.headers.end()) {
            bool const chosen = static_cast<std::size_t>(at - to_.headers.begin()) < chosen_;
            return chosen ? void() : leave_out(name, "there is another of this name");
        }
        if (value.size() > longest_value) return leave_out(name, "it is longer than 4 KiB");
        put(name, value);
    }

    /// A header of our own making, which is never left out for its length: a token, a signature.
    void add_ours(std::string_view name, std::string_view value)
    {
        if (!has(name)) put(name, value);
    }

    /// The value of the first one of this name, or the other text.
    std::string value_or(std::string_view name, std::string_view otherwise) const
    {
        auto const at = find(name);
        return at != to_.headers.end() ? at->second : std::string(otherwise);
    }

    /// Nothing where the message lacks it.
    void add_if(std::string_view name, std::string_view value)
    {
        if (!value.empty()) add(name, value);
    }

    bool has(std::string_view name) const { return find(name) != to_.headers.end(); }

    void leave_out(std::string_view name, std::string_view why)
    {
        to_.left_out.push_back("header " + std::string(name) + " is left out: " + std::string(why));
    }

    /// The headers so far are the user's.
    void are_chosen() { chosen_ = to_.headers.size(); }

private:
    void put(std::string_view name, std::string_view value)
    {
        auto text = header_value(value);
        if (net::header_problem(name, text)) return leave_out(name, "no header can have this name");
        to_.headers.emplace_back(name, std::move(text));
    }

    header_list::const_iterator find(std::string_view name) const
    {
        return std::ranges::find_if(
            std::as_const(to_.headers), [&](auto const& h) { return text::equal_ignoring_case(h.first, name); });
    }

    hook_request& to_;
    std::size_t chosen_ = 0;
};

std::string unix_time(std::optional<wall_time> at, bool in_milliseconds = false)
{
    using namespace std::chrono;
    if (!at) return {};
    auto const since = at->time_since_epoch();
    return std::to_string(in_milliseconds ? floor<milliseconds>(since).count() : floor<seconds>(since).count());
}

/// One header for each user attribute; those that sqsd reads itself it does not hand on.
void add_attributes(collector& to, std::string const& prefix, letter const& of, bool binary_too)
{
    for (auto const& a : of.message.attributes) {
        if (a.is_binary() && !binary_too) continue;
        if (a.name == type_attribute || a.name.starts_with("beanstalk.sqsd.")) continue;
        to.add(prefix + std::string(a.name), a.is_binary() ? text::base64_encode(a.value) : std::string(a.value));
    }
}

std::string_view text_attribute(letter const& of, std::string_view name)
{
    auto const* const found = of.message.attribute(name);
    return found && !found->is_binary() ? found->value : std::string_view();
}

void add_own(collector& to, letter const& of)
{
    auto const& m = of.message;
    to.add("Quern-Message-Id", m.id);
    to.add("Quern-Receive-Count", std::to_string(m.receive_count()));
    to.add_if("Quern-First-Receive-Time", unix_time(m.first_received_at()));
    to.add_if("Quern-Sent-Time", unix_time(m.sent_at()));
    to.add_if("Quern-Group-Id", m.group_id());
    to.add_if("Quern-Queue", of.queue.name);
    to.add("Idempotency-Key", m.id);
    if (!of.trace) {
        to.add_if("X-Amzn-Trace-Id", m.system("AWSTraceHeader"));
        to.add_if("traceparent", text_attribute(of, "traceparent"));
        if (detail::published const inner(m); inner.is_there() && !to.has("traceparent"))
            to.add_if("traceparent", text_attribute({inner.message(), of.queue}, "traceparent"));
    }
    add_attributes(to, "Quern-Attr-", of, true);
}

/// Leaves those of the user's choice.
void add_trace(collector& to, telemetry::trace_context const& c)
{
    to.add("traceparent", telemetry::traceparent(c));
    to.add_if("tracestate", c.state);
    to.add("X-Amzn-Trace-Id", telemetry::xray_header(c));
}

void add_carriers(collector& to, letter const& of, bool in_milliseconds)
{
    to.add("X-Carrier-Receive-Count", std::to_string(of.message.receive_count()));
    to.add_if("X-Carrier-First-Receive-Time", unix_time(of.message.first_received_at(), in_milliseconds));
}

void add_sqsds(collector& to, letter const& of)
{
    auto const& m = of.message;
    to.add("User-Agent", "aws-sqsd/2.0");
    to.add("X-Aws-Sqsd-Msgid", m.id);
    to.add_if("X-Aws-Sqsd-Queue", of.queue.name);
    if (auto const at = m.first_received_at()) to.add("X-Aws-Sqsd-First-Received-At", text::rfc3339(*at));
    to.add("X-Aws-Sqsd-Receive-Count", std::to_string(m.receive_count()));
    if (auto const at = m.sent_at()) to.add("X-Aws-Sqsd-Sent-At", text::rfc3339(*at));
    to.add_if("X-Aws-Sqsd-Sender-Id", m.system("SenderId"));
    to.add_if("X-Aws-Sqsd-Path", text_attribute(of, path_attribute));
    to.add_if("X-Aws-Sqsd-Taskname", text_attribute(of, "beanstalk.sqsd.task_name"));
    to.add_if("X-Aws-Sqsd-Scheduled-At", text_attribute(of, "beanstalk.sqsd.scheduled_time"));
    add_attributes(to, "X-Aws-Sqsd-Attr-", of, false);
}

void add_set(collector& to, header_set which, letter const& of, request_options const& o)
{
    switch (which) {
    case header_set::quern: return add_own(to, of);
    case header_set::carrier: return add_carriers(to, of, o.carrier_milliseconds);
    case header_set::sqsd: return add_sqsds(to, of);
    }
}

/// Body, and the headers that belong to its format.
void add_body(hook_request& out, collector& to, letter const& of, request_options const& o)
{
    auto const said = text_attribute(of, type_attribute);
    std::string_view const type = said.empty() || header_value(said) != said ? o.content_type : said;
    auto const& m = of.message;
    switch (o.format) {
    case body_format::raw:
    case body_format::sns_message:
        out.body = m.body;
        to.add("Content-Type", type);
        break;
    case body_format::sns:
        out.body = detail::sns_body(of);
        to.add("Content-Type", "text/plain; charset=UTF-8"); // as SNS itself
        to.add("x-amz-sns-message-type", "Notification");
        to.add("x-amz-sns-message-id", m.id);
        to.add_if("x-amz-sns-topic-arn", of.queue.arn);
        break;
    case body_format::cloudevents:
        out.body = m.body;
        to.add("Content-Type", type);
        to.add("ce-specversion", "1.0");
        to.add("ce-id", cloudevent_value(m.id));
        to.add("ce-source", cloudevent_value(of.queue.arn));
        to.add("ce-type", "com.amazon.sqs.message");
        to.add_if("ce-time", detail::sent_time(of));
        break;
    case body_format::cloudevents_structured:
        out.body = detail::cloudevent_body(of, type);
        to.add("Content-Type", "application/cloudevents+json; charset=utf-8");
        break;
    case body_format::lambda:
        out.body = detail::lambda_body({&of, 1});
        to.add("Content-Type", "application/json");
        break;
    }
}

/// Path and query of the request.
result<std::string> target_of(letter const& of, request_options const& o)
{
    auto const path = o.sqsd_path ? text_attribute(of, path_attribute) : std::string_view();
    return path.empty() ? o.url.target(of) : path_of_sender(path);
}

void sign(collector& to, hook_request const& request, request_keys const& keys, std::string_view id, wall_time now)
{
    if (keys.signing.empty() && keys.ed25519.empty()) return;
    auto const signed_id = to.value_or("webhook-id", id); // of the user's choice: what is sent is what is signed
    to.add_ours("webhook-id", signed_id);
    to.add_ours("webhook-timestamp", unix_time(now));
    auto signatures = webhook_signature(keys.signing, signed_id, now, request.body);
    if (!keys.signing.empty() && !keys.ed25519.empty()) signatures += ' ';
    signatures += ed25519_signature(keys.ed25519, signed_id, now, request.body);
    to.add_ours("webhook-signature", signatures);
}

failure wrong(std::string why)
{
    return {errc::invalid_option, std::move(why)};
}

/// Method, target, and the headers of the user's choice: before the usual ones, whose place they take.
std::optional<failure> begin_request(hook_request& out, collector& to, result<std::string> target, letter const& of,
    request_options const& o, request_keys const& keys)
{
    out.method = o.method;
    if (!target) return failure(errc::invalid_request, "URL: " + target.error().message);
    out.target = std::move(*target);
    for (auto const& header : o.extra) {
        auto const value = header.value.fill(of);
        if (value)
            to.add(header.name, *value);
        else
            to.leave_out(header.name, value.error().message);
    }
    to.are_chosen();
    if (!keys.authorization.empty()) to.add_ours("Authorization", keys.authorization);
    return {};
}

} // namespace

std::string header_value(std::string_view text)
{
    while (text.starts_with(' '))
        text.remove_prefix(1);
    while (text.ends_with(' '))
        text.remove_suffix(1);
    if (std::ranges::all_of(text, is_printable)) return std::string(text);
    std::string out;
    for (char const c : text) {
        if (is_printable(c) && c != '%')
            out += c;
        else
            append_percent(out, c);
    }
    return out;
}

result<header_template> header_template::parse(std::string_view line)
{
    auto const colon = line.find(':');
    if (colon == line.npos || colon == 0)
        return wrong("\"" + std::string(line) + "\" is no header; write 'Name: value'");
    return parse(line.substr(0, colon), line.substr(colon + 1));
}

result<header_template> header_template::parse(std::string_view name, std::string_view value)
{
    if (auto const why = net::header_problem(name, "")) return wrong(*why);
    while (value.starts_with(' '))
        value.remove_prefix(1);
    auto filled = text_template::parse(value);
    if (!filled) return filled.error();
    if (auto const why = net::header_problem(name, filled->fixed_text())) return wrong(*why);
    header_template out;
    out.name = name;
    out.value = std::move(*filled);
    return out;
}

std::optional<failure> request_options::validate() const
{
    auto const is_letter = [](char c) { return c >= 'A' && c <= 'Z'; };
    if (method.empty() || !std::ranges::all_of(method, is_letter) || method == "CONNECT" || method == "TRACE")
        return wrong("method must be one like POST, PUT or PATCH");
    if (net::header_problem("Content-Type", content_type) || content_type.empty())
        return wrong("content_type is none that a header can carry");
    if (url.origin().empty()) return wrong("a URL is needed");
    return {};
}

std::optional<failure> request_options::validate_for_batches() const
{
    if (format != body_format::lambda) return wrong("a batch needs the format lambda, which tells messages apart");
    if (!url.is_fixed() || !std::ranges::all_of(extra, [](auto const& h) { return h.value.is_fixed(); }))
        return wrong("URL and headers of a batch can have no places, since one request stands for several messages");
    if (!std::ranges::all_of(headers, [](auto which) { return which == header_set::quern; }))
        return wrong("the headers of carrier and sqsd tell of one message; a batch can have quern or none");
    return {};
}

result<hook_request> make_batch_request(
    std::span<letter const> all, request_options const& o, request_keys const& keys)
{
    hook_request out;
    collector to(out);
    if (auto const wrong = begin_request(out, to, o.url.target(all.front()), all.front(), o, keys)) return *wrong;
    out.body = detail::lambda_body(all);
    to.add("Content-Type", "application/json");
    if (!o.headers.empty()) to.add_if("Quern-Queue", all.front().queue.name);
    if (!to.has("User-Agent")) to.add("User-Agent", "quern");
    return out;
}

namespace {

result<hook_request> make_one(letter const& of, request_options const& o, request_keys const& keys, wall_time now)
{
    hook_request out;
    collector to(out);
    if (auto const wrong = begin_request(out, to, target_of(of, o), of, o, keys)) return *wrong;
    if (of.trace) add_trace(to, *of.trace);
    add_body(out, to, of, o);
    for (auto const which : o.headers)
        add_set(to, which, of, o);
    if (!to.has("User-Agent")) to.add("User-Agent", "quern");
    sign(to, out, keys, of.message.id, now);
    if (!o.hmac.header.empty())
        to.add_ours(o.hmac.header, plain_hmac(o.hmac.secret, out.method, o.hmac.url, out.body));
    return out;
}

} // namespace

result<hook_request> make_request(letter const& of, request_options const& o, request_keys const& keys, wall_time now)
{
    if (o.format == body_format::sns_message)
        if (detail::published const inner(of.message); inner.is_there())
            return make_one({inner.message(), of.queue, of.trace}, o, keys, now);
    return make_one(of, o, keys, now);
}

} // namespace quern::relay
