#include "broker/queue_rows.hpp"

#include <charconv>
#include <utility>

namespace quern::app {
namespace {

void add(std::string& list, std::string_view text)
{
    list.append(std::to_string(text.size())).append(1, ':').append(text);
}

std::string_view take(std::string_view& list)
{
    std::size_t size = 0;
    auto const [colon, ec] = std::from_chars(list.data(), list.data() + list.size(), size);
    auto const begin = static_cast<std::size_t>(colon - list.data()) + 1;
    if (ec != std::errc() || begin > list.size() || size > list.size() - begin) return std::exchange(list, {});
    auto const out = list.substr(begin, size);
    list.remove_prefix(begin + size);
    return out;
}

} // namespace

std::string packed(sqs::string_map const& map)
{
    std::string out;
    for (auto const& [key, value] : map) {
        add(out, key);
        add(out, value);
    }
    return out;
}

sqs::string_map unpacked(std::string_view list)
{
    sqs::string_map out;
    while (!list.empty()) {
        std::string key(take(list));
        out[std::move(key)] = take(list);
    }
    return out;
}

std::string packed_rest(broker::message_record const& m)
{
    std::string out;
    if (!m.attributes && m.trace_header.empty() && m.group_id.empty() && m.deduplication_id.empty() &&
        m.sequence_number.empty() && m.source_arn.empty())
        return out;
    for (auto const text : {m.trace_header, m.group_id, m.deduplication_id, m.sequence_number, m.source_arn})
        add(out, text);
    if (!m.attributes) return out;
    for (auto const& [name, value] : *m.attributes) {
        add(out, name);
        add(out, value.data_type);
        add(out, value.value);
    }
    return out;
}

void unpack_rest(std::string_view list, broker::message_record& to, sqs::attribute_map& attributes)
{
    for (auto* const text :
        {&to.trace_header, &to.group_id, &to.deduplication_id, &to.sequence_number, &to.source_arn})
        *text = list.empty() ? std::string_view() : take(list);
    attributes.clear();
    while (!list.empty()) {
        std::string name(take(list));
        auto& value = attributes[std::move(name)];
        value.data_type = take(list);
        value.value = take(list);
    }
    to.attributes = attributes.empty() ? nullptr : &attributes;
}

} // namespace quern::app
