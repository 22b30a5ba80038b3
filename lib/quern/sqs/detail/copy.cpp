#include <quern/sqs/detail/copy.hpp>

#include <quern/core/detail/text/date.hpp>
#include <quern/sqs/limits.hpp>

#include <chrono>
#include <cstdio>
#include <optional>
#include <utility>

namespace quern::sqs::detail {

using namespace quern::detail;

send_message_entry copy_of(message const& m)
{
    send_message_entry copy{std::string(m.body)};
    for (auto const& a : m.attributes)
        copy.attributes.try_emplace(
            std::string(a.name), attribute_value{std::string(a.data_type), std::string(a.value)});
    if (auto const trace = m.system("AWSTraceHeader"); !trace.empty())
        copy.system_attributes.try_emplace("AWSTraceHeader", attribute_value{"String", std::string(trace)});
    return copy;
}

bool set_if_it_fits(send_message_entry& copy, std::string_view name, attribute_value value, bool replace)
{
    if (value.value.empty()) return false;
    auto const old = copy.attributes.find(std::string(name));
    bool const is_there = old != copy.attributes.end();
    if (is_there && !replace) return false;
    if (!is_there && copy.attributes.size() >= max_attributes) return false;
    auto const before = is_there ? std::optional<attribute_value>(old->second) : std::nullopt;
    auto const at = copy.attributes.insert_or_assign(std::string(name), std::move(value)).first;
    if (message_size(copy.body, copy.attributes) <= max_message_bytes) return true;
    if (before)
        at->second = *before;
    else
        copy.attributes.erase(at);
    return false;
}

std::string rfc3339_ms(wall_time at)
{
    auto const ms = std::chrono::floor<std::chrono::milliseconds>(at.time_since_epoch()).count() % 1000;
    auto text = text::rfc3339(at);
    char part[8];
    std::snprintf(part, sizeof part, ".%03dZ", static_cast<int>(ms));
    text.replace(text.size() - 1, 1, part);
    return text;
}

} // namespace quern::sqs::detail
