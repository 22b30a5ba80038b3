#include <quern/core/detail/text/base64.hpp>

#include <array>
#include <cstdint>

namespace quern::detail::text {
namespace {

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t foreign = 64;

constexpr auto make_values()
{
    std::array<std::uint8_t, 256> values{};
    values.fill(foreign);
    for (std::size_t i = 0; i != alphabet.size(); ++i) {
        values[static_cast<std::uint8_t>(alphabet[i])] = static_cast<std::uint8_t>(i);
    }
    return values;
}
constexpr auto values = make_values();

std::uint32_t byte_at(std::string_view bytes, std::size_t i)
{
    return i < bytes.size() ? static_cast<std::uint8_t>(bytes[i]) : 0u;
}

} // namespace

char* write_base64(char* to, std::string_view bytes)
{
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        auto const group = byte_at(bytes, i) << 16 | byte_at(bytes, i + 1) << 8 | byte_at(bytes, i + 2);
        for (int shift = 18; shift >= 0; shift -= 6)
            *to++ = alphabet[group >> shift & 63];
    }
    auto const left_over = bytes.size() % 3;
    if (left_over != 0) to[-1] = '=';
    if (left_over == 1) to[-2] = '=';
    return to;
}

void append_base64(std::string& out, std::string_view bytes)
{
    auto const at = out.size();
    out.resize(at + (bytes.size() + 2) / 3 * 4);
    write_base64(out.data() + at, bytes);
}

std::string base64_encode(std::string_view bytes)
{
    std::string out;
    append_base64(out, bytes);
    return out;
}

std::optional<std::string> base64_decode(std::string_view text)
{
    if (text.size() % 4 != 0) return {};
    std::size_t const padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
    text.remove_suffix(padding);

    std::string out;
    out.reserve(text.size() / 4 * 3 + 2);
    std::uint32_t pending = 0;
    int bits = 0;
    for (auto const c : text) {
        auto const value = values[static_cast<std::uint8_t>(c)];
        if (value == foreign) return {};
        pending = (pending << 6 | value) & 0xffff;
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        out.push_back(static_cast<char>(pending >> bits & 0xff));
    }
    if ((pending & ((1u << bits) - 1)) != 0) return {};
    return out;
}

} // namespace quern::detail::text
