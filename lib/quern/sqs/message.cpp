#include <quern/sqs/message.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace quern::sqs {
namespace {

template <class Number>
std::optional<Number> number(std::string_view text)
{
    Number out{};
    auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (ec != std::errc() || end != text.data() + text.size()) return {};
    return out;
}

/// The same of what service times are: so few digits that they cannot overflow. Each message has two such times.
std::optional<std::int64_t> count_of(std::string_view text)
{
    if (text.size() > 18 || text.empty()) return number<std::int64_t>(text);
    std::int64_t out = 0;
    for (char const c : text) {
        auto const digit = static_cast<unsigned>(c) - '0';
        if (digit > 9) return number<std::int64_t>(text);
        out = 10 * out + digit;
    }
    return out;
}

std::optional<std::chrono::system_clock::time_point> point_in_time(std::string_view milliseconds_since_1970)
{
    using std::chrono::milliseconds;
    using std::chrono::system_clock;
    constexpr auto last = std::chrono::duration_cast<milliseconds>(system_clock::duration::max()).count();
    auto const count = count_of(milliseconds_since_1970);
    if (!count || *count < 0 || *count > last) return {};
    return system_clock::time_point(milliseconds(*count));
}

} // namespace

std::string_view message::system(std::string_view name) const
{
    auto const at = std::ranges::find(system_attributes, name, &system_attribute::name);
    return at == system_attributes.end() ? std::string_view() : at->value;
}

message_attribute const* message::attribute(std::string_view name) const
{
    auto const at = std::ranges::find(attributes, name, &message_attribute::name);
    return at == attributes.end() ? nullptr : &*at;
}

int message::receive_count() const
{
    return number<int>(system("ApproximateReceiveCount")).value_or(0);
}

std::optional<std::chrono::system_clock::time_point> message::first_received_at() const
{
    return point_in_time(system("ApproximateFirstReceiveTimestamp"));
}

std::optional<std::chrono::system_clock::time_point> message::sent_at() const
{
    return point_in_time(system("SentTimestamp"));
}

} // namespace quern::sqs
