#include <quern/broker/detail/ids.hpp>

#include <string_view>

namespace quern::broker::detail {

std::string id_source::uuid()
{
    constexpr std::string_view pattern = "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx";
    constexpr std::string_view digits = "0123456789abcdef";

    std::string out(pattern);
    std::uint64_t bits = 0;
    int left = 0;
    for (char& c : out) {
        if (c != 'x' && c != 'y') continue;
        if (left == 0) {
            bits = mixed(key_ + ++uuids_);
            left = 16;
        }
        auto const digit = bits & 15;
        c = digits[c == 'y' ? 8 | (digit & 3) : digit];
        bits >>= 4;
        --left;
    }
    return out;
}

std::string id_source::sequence_number()
{
    // The service's look like 18849496460467696128: 20 digits, in steps of 256.
    sequence_ += 256;
    auto const low = std::to_string(sequence_);
    return "188" + std::string(17 - low.size(), '0') + low;
}

} // namespace quern::broker::detail
