#include <quern/core/detail/text/base64.hpp>
#include <quern/core/detail/text/digest.hpp>
#include <quern/core/detail/text/json_writer.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace quern::detail::text {
namespace {

/// The letter after the backslash; 'u' for the controls without a short form, 0 for what needs none.
constexpr auto escapes = [] {
    std::array<char, 256> table{};
    for (std::size_t c = 0; c < 0x20; ++c)
        table[c] = 'u';
    table['\b'] = 'b';
    table['\t'] = 't';
    table['\n'] = 'n';
    table['\f'] = 'f';
    table['\r'] = 'r';
    table['"'] = '"';
    table['\\'] = '\\';
    return table;
}();

/// The first of those that need an escape. Most text has none for long stretches: many bytes are ruled out at a time,
/// where there is no vector unit by the borrow that a subtraction takes from the high bit of each byte below a bound.
char const* find_escaped(char const* at, char const* end)
{
#ifdef __SSE2__
    auto const quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), control = _mm_set1_epi8(0x1f);
    for (; end - at >= 16; at += 16) {
        auto const some = _mm_loadu_si128(reinterpret_cast<__m128i const*>(at));
        auto const is_control = _mm_cmpeq_epi8(_mm_min_epu8(some, control), some);
        auto const is_quoted = _mm_or_si128(_mm_cmpeq_epi8(some, quote), _mm_cmpeq_epi8(some, backslash));
        auto const found = static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(is_control, is_quoted)));
        if (found != 0) return at + std::countr_zero(found);
    }
#else
    constexpr std::uint64_t ones = 0x0101010101010101, high = 0x80 * ones;
    for (; end - at >= 8; at += 8) {
        std::uint64_t eight;
        std::memcpy(&eight, at, sizeof eight);
        auto const quote = eight ^ ('"' * ones), backslash = eight ^ ('\\' * ones);
        auto const control = (eight - 0x20 * ones) & ~eight;
        if (((control | ((quote - ones) & ~quote) | ((backslash - ones) & ~backslash)) & high) != 0) break;
    }
#endif
    return std::find_if(at, end, [](char c) { return escapes[static_cast<unsigned char>(c)] != 0; });
}

} // namespace

// Flat, as are some below: else the compiler inlines push_back or does not, by what else it compiles in one go, and a
// request's body costs a tenth more.
[[gnu::flatten]] void append_json_string(std::string& to, std::string_view utf8)
{
    to.push_back('"');
    auto run = utf8.data();
    auto const end = run + utf8.size();
    for (auto at = find_escaped(run, end); at != end; at = find_escaped(run, end)) {
        auto const c = static_cast<unsigned char>(*at);
        to.append(run, static_cast<std::size_t>(at - run));
        to.push_back('\\');
        to.push_back(escapes[c]);
        if (escapes[c] == 'u') {
            to.append("00");
            std::byte const code{c};
            append_hex(to, {&code, 1});
        }
        run = at + 1;
    }
    to.append(run, static_cast<std::size_t>(end - run));
    to.push_back('"');
}

[[gnu::flatten]] json_writer& json_writer::open(char bracket)
{
    separate();
    to_.push_back(bracket);
    comma_ = false;
    return *this;
}

[[gnu::flatten]] json_writer& json_writer::close(char bracket)
{
    to_.push_back(bracket);
    comma_ = true;
    return *this;
}

void json_writer::separate()
{
    if (comma_) to_.push_back(',');
    comma_ = true;
}

json_writer& json_writer::key(std::string_view name)
{
    separate();
    append_json_string(to_, name);
    to_.push_back(':');
    comma_ = false;
    return *this;
}

[[gnu::flatten]] json_writer& json_writer::plain_key(std::string_view name)
{
    separate();
    to_.push_back('"');
    to_.append(name).append("\":");
    comma_ = false;
    return *this;
}

json_writer& json_writer::string(std::string_view utf8)
{
    separate();
    append_json_string(to_, utf8);
    return *this;
}

json_writer& json_writer::base64(std::string_view bytes)
{
    separate();
    to_.push_back('"');
    append_base64(to_, bytes);
    to_.push_back('"');
    return *this;
}

json_writer& json_writer::integer(std::int64_t value)
{
    separate();
    std::array<char, 24> digits;
    auto const [end, ec] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    to_.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
    return *this;
}

json_writer& json_writer::number(std::string_view literal)
{
    separate();
    to_.append(literal);
    return *this;
}

json_writer& json_writer::number(double value)
{
    char out[32];
    return number(std::string_view(out, std::to_chars(out, out + sizeof out, value).ptr));
}

json_writer& json_writer::boolean(bool value)
{
    separate();
    to_.append(value ? "true" : "false");
    return *this;
}

} // namespace quern::detail::text
