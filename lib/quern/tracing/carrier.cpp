#include <quern/tracing/carrier.hpp>

#include <quern/sqs/detail/copy.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace quern::tracing {

using telemetry::trace_context;

namespace {

constexpr std::string_view parent_name = "traceparent", state_name = "tracestate", xray_name = "AWSTraceHeader";

std::string_view text_in(sqs::message const& m, std::string_view name)
{
    auto const* const found = m.attribute(name);
    return found && !found->is_binary() ? found->value : std::string_view();
}

std::string_view text_in(sqs::attribute_map const& all, std::string_view name)
{
    auto const found = all.find(std::string(name));
    return found != all.end() && !found->second.is_binary() ? std::string_view(found->second.value)
                                                            : std::string_view();
}

std::optional<trace_context> either(std::string_view parent, std::string_view state, std::string_view xray)
{
    auto out = telemetry::read_w3c(parent, state);
    return out ? out : telemetry::read_xray(xray);
}

bool asks_for(std::vector<std::string> const& names, std::string_view name)
{
    return std::ranges::any_of(
        names, [&](std::string const& one) { return one == "All" || one == "*" || one == ".*" || one == name; });
}

} // namespace

std::optional<trace_context> context_of(sqs::message const& m)
{
    return either(text_in(m, parent_name), text_in(m, state_name), m.system(xray_name));
}

std::optional<trace_context> context_of(sqs::send_message_entry const& m)
{
    return either(text_in(m.attributes, parent_name), text_in(m.attributes, state_name),
        text_in(m.system_attributes, xray_name));
}

void put_context(sqs::send_message_entry& to, trace_context const& c, telemetry::propagators how)
{
    if (context_of(to)) return;
    if (how.xray) {
        to.system_attributes.try_emplace(
            std::string(xray_name), sqs::attribute_value{"String", telemetry::xray_header(c)});
    }
    if (!how.w3c) return;
    bool const is_there = sqs::detail::set_if_it_fits(to, parent_name, {"String", telemetry::traceparent(c)}, false);
    if (is_there) sqs::detail::set_if_it_fits(to, state_name, {"String", c.state}, true);
}

void ask_for_context(sqs::receive_message_request& r)
{
    if (!asks_for(r.system_attribute_names, xray_name)) r.system_attribute_names.emplace_back(xray_name);
    for (auto const name : {parent_name, state_name})
        if (!asks_for(r.attribute_names, name)) r.attribute_names.emplace_back(name);
}

} // namespace quern::tracing
