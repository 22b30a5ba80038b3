#include <quern/sqs/detail/md5.hpp>

#include <quern/core/detail/md5.hpp>
#include <quern/core/detail/text/digest.hpp>

#include <algorithm>

namespace quern::sqs::detail {

using namespace quern::detail;

namespace {

void append_part(std::string& to, std::string_view text)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        to += static_cast<char>(text.size() >> shift & 0xff);
    to += text;
}

void append_attribute(
    std::string& to, std::string_view name, std::string_view type, bool binary, std::string_view value)
{
    append_part(to, name);
    append_part(to, type);
    to += binary ? '\2' : '\1';
    append_part(to, value);
}

std::string in_hex(std::string_view text)
{
    return text::hex(md5(text));
}

} // namespace

std::string md5_of_body(std::string_view body)
{
    return in_hex(body);
}

std::string md5_of_attributes(attribute_map const& attributes)
{
    std::string text;
    for (auto const& [name, each] : attributes) {
        append_attribute(text, name, each.data_type, each.is_binary(), each.value);
    }
    return in_hex(text);
}

std::string md5_of_attributes(std::vector<message_attribute> const& attributes)
{
    std::vector<message_attribute> sorted = attributes;
    std::ranges::sort(sorted, {}, &message_attribute::name);
    std::string text;
    for (auto const& each : sorted)
        append_attribute(text, each.name, each.data_type, each.is_binary(), each.value);
    return in_hex(text);
}

} // namespace quern::sqs::detail
