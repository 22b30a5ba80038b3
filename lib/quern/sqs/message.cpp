#include <quern/sqs/message.hpp>

#include <quern/core/detail/text/reading.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

namespace quern::sqs {

using namespace quern::detail;

namespace {

/// Eight characters, the first of them in the lowest byte.
std::uint64_t eight_at(char const* text)
{
    std::uint64_t out = 0;
    if constexpr (std::endian::native == std::endian::little)
        std::memcpy(&out, text, sizeof out);
    else
        for (int i = 0; i < 8; ++i)
            out |= std::uint64_t(static_cast<unsigned char>(text[i])) << 8 * i;
    return out;
}

constexpr std::uint64_t zeros = 0x3030303030303030; // eight of them

bool all_digits(std::uint64_t eight)
{
    constexpr std::uint64_t high = 0xF0F0F0F0F0F0F0F0, six = 0x0606060606060606;
    return (eight & high) == zeros && ((eight + six) & high) == zeros;
}

/// Value of eight digits, by three multiplications.
std::int64_t value_of(std::uint64_t eight)
{
    auto const digits = eight - zeros;
    auto const pairs = digits * 10 + (digits >> 8); // in every second byte
    constexpr std::uint64_t first_and_third = 0x000000FF000000FF;
    return static_cast<std::int64_t>(((pairs & first_and_third) * (100 + (std::uint64_t(1'000'000) << 32)) +
                                         ((pairs >> 16) & first_and_third) * (1 + (std::uint64_t(10'000) << 32))) >>
        32);
}

/// The same of what service times are. Each message has one or two such, of thirteen digits.
std::optional<std::int64_t> count_of(std::string_view text)
{
    if (text.size() <= 8 || text.size() > 16) return text::number_in<std::int64_t>(text);
    auto const missing = 16 - text.size();
    auto const first = eight_at(text.data()) << 8 * missing | (zeros & ((std::uint64_t(1) << 8 * missing) - 1)),
               last = eight_at(text.data() + text.size() - 8);
    if (!all_digits(first) || !all_digits(last)) return {};
    return value_of(first) * 100'000'000 + value_of(last);
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
    for (auto const& a : system_attributes) // thrice a message; std::ranges::find takes twice as long
        if (a.name.size() == name.size() && std::memcmp(a.name.data(), name.data(), name.size()) == 0) return a.value;
    return {};
}

message_attribute const* message::attribute(std::string_view name) const
{
    auto const at = std::ranges::find(attributes, name, &message_attribute::name);
    return at == attributes.end() ? nullptr : &*at;
}

int message::receive_count() const
{
    return text::number_in<int>(system("ApproximateReceiveCount")).value_or(0);
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
