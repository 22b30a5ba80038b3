#include <quern/aws/detail/signing/canonical.hpp>
#include <quern/core/detail/text/characters.hpp>

#include <boost/beast/core/string.hpp>

#include <algorithm>

namespace quern::aws::detail {

using namespace quern::detail;

namespace {

bool is_unreserved(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
        c == '_' || c == '~';
}

bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

void append_encoded(std::string& out, std::string_view text, bool keep_slash)
{
    constexpr std::string_view digits = "0123456789ABCDEF";
    for (auto const c : text) {
        if (is_unreserved(c) || (keep_slash && c == '/')) {
            out.push_back(c);
            continue;
        }
        auto const byte = static_cast<unsigned char>(c);
        out.push_back('%');
        out.push_back(digits[byte >> 4]);
        out.push_back(digits[byte & 15]);
    }
}

/// Trimmed, runs of white space as one space.
void append_folded(std::string& out, std::string_view value)
{
    bool gap = false, begun = false;
    for (auto const c : value) {
        if (is_space(c)) {
            gap = begun;
            continue;
        }
        if (gap) out.push_back(' ');
        gap = false;
        begun = true;
        out.push_back(c);
    }
}

std::string normalized(std::string_view path)
{
    std::vector<std::string_view> kept;
    for (std::size_t at = 0; at < path.size();) {
        auto const end = std::min(path.find('/', at), path.size());
        auto const segment = path.substr(at, end - at);
        if (segment == "..") {
            if (!kept.empty()) kept.pop_back();
        } else if (!segment.empty() && segment != ".") {
            kept.push_back(segment);
        }
        at = end + 1;
    }
    std::string out;
    for (auto const segment : kept)
        out.append("/").append(segment);
    if (out.empty() || path.ends_with('/')) out.push_back('/');
    return out;
}

} // namespace

std::string_view request_view::header(std::string_view name) const
{
    for (auto const& h : headers) {
        if (boost::beast::iequals(h.name, name)) return h.value;
    }
    return {};
}

std::string uri_encode(std::string_view text)
{
    std::string out;
    append_encoded(out, text, false);
    return out;
}

std::string canonical_path(std::string_view path, bool normalize)
{
    std::string out;
    if (normalize)
        append_encoded(out, normalized(path), true);
    else
        append_encoded(out, path.empty() ? "/" : path, true);
    return out;
}

query_parameters parse_query(std::string_view query)
{
    query_parameters found;
    while (!query.empty()) {
        auto const end = std::min(query.find('&'), query.size());
        auto const item = query.substr(0, end);
        query.remove_prefix(std::min(end + 1, query.size()));
        if (item.empty()) continue;
        auto const equals = std::min(item.find('='), item.size());
        found.emplace_back(text::percent_decoded(item.substr(0, equals)),
            text::percent_decoded(item.substr(std::min(equals + 1, item.size()))));
    }
    return found;
}

std::string value_of(query_parameters const& parameters, std::string_view name)
{
    for (auto const& [key, value] : parameters)
        if (key == name) return value;
    return {};
}

std::string canonical_query(query_parameters const& parameters)
{
    query_parameters encoded;
    encoded.reserve(parameters.size());
    for (auto const& [name, value] : parameters)
        encoded.emplace_back(uri_encode(name), uri_encode(value));
    std::sort(encoded.begin(), encoded.end());
    std::string out;
    for (auto const& [name, value] : encoded) {
        if (!out.empty()) out.push_back('&');
        out.append(name).append("=").append(value);
    }
    return out;
}

canonical_headers canonicalize(std::vector<header_view> const& headers)
{
    std::vector<std::pair<std::string, std::string_view>> sorted;
    sorted.reserve(headers.size());
    for (auto const& h : headers)
        sorted.emplace_back(text::lower_case(h.name), h.value);
    std::ranges::stable_sort(sorted, {}, &std::pair<std::string, std::string_view>::first);

    canonical_headers out;
    std::string_view last;
    for (auto const& [name, value] : sorted) {
        if (name == last && !out.lines.empty()) {
            out.lines.back() = ','; // another value of the same name
        } else {
            if (!out.names.empty()) out.names.push_back(';');
            out.names.append(name);
            out.lines.append(name).append(":");
        }
        append_folded(out.lines, value);
        out.lines.push_back('\n');
        last = name;
    }
    return out;
}

bool has_control_character(std::string_view text)
{
    return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

} // namespace quern::aws::detail
