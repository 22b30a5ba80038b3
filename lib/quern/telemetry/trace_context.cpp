#include <quern/core/detail/text/characters.hpp>
#include <quern/core/detail/text/digest.hpp>
#include <quern/core/detail/text/reading.hpp>
#include <quern/telemetry/trace_context.hpp>

#include <algorithm>
#include <span>
#include <vector>

namespace quern::telemetry {

using namespace quern::detail;

namespace {

constexpr std::size_t most_members = 32;
constexpr std::size_t longest_state = 512;  // that everybody has to pass on (Trace Context, 3.3.1.5)
constexpr std::size_t longest_member = 128; // of those that stay longest
constexpr std::size_t longest_key = 256, longest_value = 256;

/// -1 where it is no digit.
int digit(char c, bool capitals)
{
    return capitals || c < 'A' || c > 'F' ? text::hex_digit(c) : -1;
}

bool read_hex(std::string_view text, std::span<std::uint8_t> to, bool capitals = false)
{
    if (text.size() != 2 * to.size()) return false;
    for (std::size_t i = 0; i < to.size(); ++i) {
        auto const high = digit(text[2 * i], capitals), low = digit(text[2 * i + 1], capitals);
        if (high < 0 || low < 0) return false;
        to[i] = static_cast<std::uint8_t>(high << 4 | low);
    }
    return true;
}

bool is_zero(std::span<std::uint8_t const> id)
{
    return std::ranges::all_of(id, [](auto byte) { return byte == 0; });
}

bool is_lower_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/// Level 2 of the recommendation, which takes what level 1 takes and a little more.
bool is_state_key(std::string_view key)
{
    return !key.empty() && key.size() <= longest_key && is_lower_or_digit(key.front()) &&
        std::ranges::all_of(key, [](char c) {
            return is_lower_or_digit(c) || std::string_view("_-*/@").find(c) != std::string_view::npos;
        });
}

bool is_state_value(std::string_view value)
{
    return !value.empty() && value.size() <= longest_value &&
        std::ranges::all_of(value, [](char c) { return c >= ' ' && c <= '~' && c != ',' && c != '='; });
}

std::string joined(std::vector<std::string_view> const& members)
{
    std::string out;
    for (auto const one : members) {
        if (!out.empty()) out += ',';
        out += one;
    }
    return out;
}

std::string shortened(std::vector<std::string_view> members)
{
    auto out = joined(members);
    while (out.size() > longest_state) {
        auto const large = std::ranges::find_if(members, [](auto one) { return one.size() > longest_member; });
        members.erase(large != members.end() ? large : members.end() - 1);
        out = joined(members);
    }
    return out;
}

std::string hex(std::span<std::uint8_t const> bytes)
{
    return text::hex(std::as_bytes(bytes));
}

/// "1-5759e988-bd862e3fe1be46a994272793"
bool read_root(std::string_view text, trace_id& to)
{
    if (text.size() != 35 || !text.starts_with("1-") || text[10] != '-') return false;
    std::string digits(text.substr(2, 8));
    digits += text.substr(11);
    return read_hex(digits, to, true) && !is_zero(to);
}

} // namespace

std::optional<trace_context> read_traceparent(std::string_view text)
{
    constexpr std::size_t length = 55;
    text = text::trimmed(text);
    if (text.size() < length || text[2] != '-' || text[35] != '-' || text[52] != '-') return {};
    std::array<std::uint8_t, 1> version{}, flags{};
    if (!read_hex(text.substr(0, 2), version) || version[0] == 0xff) return {};
    if (version[0] == 0 ? text.size() != length : text.size() != length && text[length] != '-') return {};
    trace_context out;
    if (!read_hex(text.substr(3, 32), out.trace) || !read_hex(text.substr(36, 16), out.span) ||
        !read_hex(text.substr(53, 2), flags)) {
        return {};
    }
    if (is_zero(out.trace) || is_zero(out.span)) return {};
    out.sampled = (flags[0] & 1) != 0;
    return out;
}

std::string traceparent(trace_context const& c)
{
    return "00-" + hex(c.trace) + '-' + hex(c.span) + (c.sampled ? "-01" : "-00");
}

std::string read_tracestate(std::string_view text)
{
    std::vector<std::string_view> members, keys;
    while (!text.empty()) {
        auto const one = text::take_piece(text, ',');
        if (one.empty()) continue;
        auto const equals = one.find('=');
        if (equals == one.npos || !is_state_key(one.substr(0, equals)) || !is_state_value(one.substr(equals + 1)))
            return {};
        if (std::ranges::find(keys, one.substr(0, equals)) != keys.end() || members.size() == most_members) return {};
        keys.push_back(one.substr(0, equals));
        members.push_back(one);
    }
    return shortened(std::move(members));
}

std::optional<trace_context> read_w3c(std::string_view parent, std::string_view state)
{
    auto out = read_traceparent(parent);
    if (out) out->state = read_tracestate(state);
    return out;
}

std::optional<trace_context> read_xray(std::string_view text)
{
    trace_context out;
    out.undecided = true;
    bool has_root = false, has_parent = false;
    while (!text.empty()) {
        auto const one = text::take_piece(text, ';');
        auto const equals = one.find('=');
        if (equals == one.npos) continue;
        auto const name = text::trimmed(one.substr(0, equals)), value = text::trimmed(one.substr(equals + 1));
        if (name == "Root") has_root = read_root(value, out.trace);
        if (name == "Parent") has_parent = read_hex(value, out.span, true) && !is_zero(out.span);
        if (name == "Sampled") {
            out.sampled = value == "1";
            out.undecided = value != "0" && value != "1";
        }
    }
    if (!has_root || !has_parent) return {};
    return out;
}

std::string xray_header(trace_context const& c)
{
    auto const trace = hex(c.trace);
    return "Root=1-" + trace.substr(0, 8) + '-' + trace.substr(8) + ";Parent=" + hex(c.span) + ";Sampled=" +
        (c.undecided        ? "?"
                : c.sampled ? "1"
                            : "0");
}

std::string text_of(trace_id const& id)
{
    return hex(id);
}

std::string text_of(span_id const& id)
{
    return hex(id);
}

} // namespace quern::telemetry
