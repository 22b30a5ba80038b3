#pragma once

#include <quern/core/detail/text/characters.hpp>
#include <quern/core/detail/text/digest.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace quern::broker::detail {

/// 32 hexadecimal digits in sixteen bytes: an MD5, or a UUID without its hyphens.
class hex16 {
public:
    static constexpr std::size_t digits = 32;
    static constexpr std::size_t uuid_size = 36;

    hex16() = default;

    /// Reads lower case text with so many digits; everything else in it is skipped.
    explicit hex16(std::string_view from)
    {
        std::size_t at = 0;
        for (char const c : from) {
            auto const value = quern::detail::text::hex_digit(c);
            if (value < 0 || at == digits) continue;
            bytes_[at / 2] = bytes_[at / 2] << 4 | static_cast<std::byte>(value);
            ++at;
        }
    }

    void write(char* out) const { quern::detail::text::write_hex(out, bytes_); }

    /// "f47ac10b-58cc-4372-a567-0e02b2c3d479"
    void write_uuid(char* out) const
    {
        for (std::span<std::byte const> left = bytes_; std::size_t const size : {4, 2, 2, 2, 6}) {
            quern::detail::text::write_hex(out, left.first(size));
            left = left.subspan(size);
            out += 2 * size;
            if (!left.empty()) *out++ = '-';
        }
    }

private:
    std::array<std::byte, 16> bytes_{};
};

} // namespace quern::broker::detail
