#include <quern/consumer/explanation.hpp>
#include <quern/core/detail/text/json_writer.hpp>

#include <string_view>

namespace quern {

using namespace detail;

namespace {

/// "1 message", "2 messages"
std::string count(std::size_t n, std::string_view what)
{
    return std::to_string(n) + ' ' + std::string(what) + (n == 1 ? "" : "s");
}

std::string whole_seconds(std::chrono::milliseconds d)
{
    return std::to_string(std::chrono::floor<std::chrono::seconds>(d).count()) + " s";
}

std::string_view words_for(std::string_view state)
{
    if (state == "running") return "its handler runs";
    if (state == "settling") return "it is being settled";
    return "it waits";
}

} // namespace

std::string to_string(explanation const& e)
{
    auto text = count(e.polls, "receive") + " open, " + count(e.in_flight, "message") + " in flight";
    auto const add = [&](std::string_view part) { text.append("; ").append(part); };
    for (auto const& o : e.obstacles)
        add(o.text);
    if (e.obstacles.empty()) add("nothing is in the way");
    if (e.oldest) {
        add("the oldest message, " + e.oldest->id + ", has been here for " + whole_seconds(e.oldest->age) + ", " +
            std::string(words_for(e.oldest->state)));
    }
    for (auto const& remark : e.remarks)
        add(remark);
    if (e.last_problem)
        add("the last problem, " + whole_seconds(e.last_problem->ago) + " ago: " + e.last_problem->text);
    return text;
}

std::string to_json(explanation const& e)
{
    std::string text;
    text::json_writer json(text);
    json.begin_object()
        .member("ready", e.ready)
        .member("polls", e.polls)
        .member("in_flight", e.in_flight)
        .member("running", e.running)
        .member("settling", e.settling)
        .member("bytes", e.bytes)
        .member("quiet_ms", e.quiet.count());
    json.key("limits").begin_object();
    auto const& limits = e.limits;
    json.member("max_in_flight", limits.max_in_flight).member("max_polls", limits.max_polls);
    if (auto const& n = limits.max_bytes_in_flight) json.member("max_bytes_in_flight", *n);
    if (auto const& n = limits.handler_concurrency) json.member("handler_concurrency", *n);
    if (limits.rate) json.member("rate", policy::to_string(*limits.rate));
    json.end_object().key("obstacles").begin_array();
    for (auto const& o : e.obstacles)
        json.begin_object().member("name", o.name).member("text", o.text).end_object();
    json.end_array().key("remarks").begin_array();
    for (auto const& remark : e.remarks)
        json.string(remark);
    json.end_array();
    if (!e.tenants.empty()) {
        json.key("tenants").begin_array();
        for (auto const& t : e.tenants) {
            json.begin_object()
                .member("name", t.name)
                .member("waiting", t.waiting)
                .member("running", t.running)
                .member("capped", t.capped)
                .end_object();
        }
        json.end_array();
    }
    if (e.oldest) {
        json.key("oldest")
            .begin_object()
            .member("message_id", e.oldest->id)
            .member("age_ms", e.oldest->age.count())
            .member("state", e.oldest->state)
            .end_object();
    }
    if (e.last_problem) {
        json.key("last_problem")
            .begin_object()
            .member("text", e.last_problem->text)
            .member("ago_ms", e.last_problem->ago.count())
            .end_object();
    }
    json.end_object();
    return text;
}

} // namespace quern
