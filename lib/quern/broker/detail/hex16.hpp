#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace quern::broker {

/// 32 hexadecimal digits in sixteen bytes: an MD5, or a UUID without its hyphens.
class hex16 {
public:
    static constexpr std::size_t digits = 32;
    static constexpr std::size_t uuid_size = 36;

    hex16() = default;

    /// Reads lower case text with so many digits; everything else in it is skipped.
    explicit hex16(std::string_view text)
    {
        std::size_t at = 0;
        for (char const c : text) {
            bool const letter = c >= 'a' && c <= 'f';
            if ((!letter && (c < '0' || c > '9')) || at == digits) continue;
            auto const value = static_cast<std::uint8_t>(letter ? c - 'a' + 10 : c - '0');
            bytes_[at / 2] = static_cast<std::uint8_t>(bytes_[at / 2] << 4 | value);
            ++at;
        }
    }

    void write(char* out) const
    {
        for (std::size_t i = 0; i != bytes_.size(); ++i)
            out = write_byte(i, out);
    }
    /// "f47ac10b-58cc-4372-a567-0e02b2c3d479"
    void write_uuid(char* out) const
    {
        for (std::size_t i = 0; i != bytes_.size(); ++i) {
            if (i == 4 || i == 6 || i == 8 || i == 10) *out++ = '-';
            out = write_byte(i, out);
        }
    }

private:
    char* write_byte(std::size_t i, char* out) const
    {
        constexpr std::string_view letters = "0123456789abcdef";
        *out++ = letters[bytes_[i] >> 4];
        *out++ = letters[bytes_[i] & 15];
        return out;
    }

    std::array<std::uint8_t, 16> bytes_{};
};

} // namespace quern::broker
