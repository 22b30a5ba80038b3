// Settings of a run, as text in its journal.

#include "redrive/redrive_options.hpp"

#include <quern/core/detail/printable.hpp>
#include <quern/telemetry/snapshot.hpp>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>
#include <boost/json/value_to.hpp>

#include <exception>
#include <type_traits>

namespace quern::app {

using namespace quern::detail;

namespace {

/// Shows each setting that a resumed run must have again, and its name.
template <class Options, class Visit>
void each_setting(Options& o, Visit const& visit)
{
    visit("dlq", o.queue);
    visit("to", o.to);
    visit("to_source", o.to_source);
    visit("poison_queue", o.poison_queue);
    visit("rule", o.rules);
    visit("limit", o.limit);
    visit("id", o.id);
    visit("group", o.group);
    visit("reason", o.chosen_reason);
    visit("since", o.since);
    visit("until", o.until);
    visit("since_at", o.since_at);
    visit("until_at", o.until_at);
    visit("where", o.where);
    visit("where_body", o.where_body);
    visit("cutoff", o.cutoff);
    visit("rate", o.rate);
    visit("ramp", o.ramp);
    visit("canary", o.canary);
    visit("stop_on_return", o.stop_on_return);
    visit("stop_on_failure", o.stop_on_failure);
    visit("concurrency", o.concurrency);
    visit("max_attempts", o.max_attempts);
    visit("delay_base", o.delay_base);
    visit("delay_max", o.delay_max);
    visit("jitter", o.jitter);
    visit("breaker_flag", o.breaker_flag);
    visit("on_open", o.on_open);
}

} // namespace

result<std::string> to_input(redrive_options const& o)
{
    boost::json::object out;
    each_setting(o, [&](char const* name, auto const& value) { out[name] = boost::json::value_from(value); });
    auto const text = boost::json::serialize(out);
    if (text == telemetry::valid_utf8(text)) return text;
    return failure(errc::invalid_option, "a journal keeps settings in UTF-8, and these are not: " + printable(text));
}

bool is_input_of(redrive_options o, std::string_view input)
{
    auto const was = from_input(input);
    if (!was) return false;
    o.since_at = was->since_at;
    o.until_at = was->until_at;
    auto const is = to_input(o), began_with = to_input(*was);
    return is && began_with && *is == *began_with;
}

result<redrive_options> from_input(std::string_view text)
{
    redrive_options out;
    try {
        auto const read_from = boost::json::parse(text);
        auto const& all = read_from.as_object();
        std::size_t known = 0;
        each_setting(out, [&](char const* name, auto& value) {
            auto const* const there = all.if_contains(name);
            if (!there) return; // older than this setting: as it was without it
            value = boost::json::value_to<std::remove_cvref_t<decltype(value)>>(*there);
            ++known;
        });
        if (known != all.size())
            return failure(errc::invalid_option, "the settings in the journal have one that is not known here");
    } catch (std::exception const& why) {
        return failure(
            errc::invalid_option, "the settings in the journal cannot be read: " + std::string(why.what()));
    }
    return out;
}

} // namespace quern::app
