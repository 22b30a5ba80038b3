#include <quern/net/detail/http_rules.hpp>

#include <boost/asio/ip/address.hpp>
#include <boost/beast/core/string.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace quern::net::detail {

using boost::beast::iequals;

bool has_folded_header(std::string_view text)
{
    auto const header = text.substr(0, text.find("\r\n\r\n"));
    for (auto at = header.find("\r\n"); at != header.npos; at = header.find("\r\n", at + 2)) {
        if (at + 2 < header.size() && (header[at + 2] == ' ' || header[at + 2] == '\t')) return true;
    }
    return false;
}

framing framing_of(headers const& fields, int version)
{
    bool chunked = false;
    for (std::size_t i = 0; i != fields.size(); ++i) {
        auto const [name, value] = fields[i];
        if (!iequals(name, "transfer-encoding")) continue;
        if (!iequals(value, "chunked")) return framing::unsupported;
        if (std::exchange(chunked, true)) return framing::bad;
    }
    return chunked && version < 11 ? framing::bad : framing::sound;
}

std::string_view repeated_header(headers const& fields, std::span<std::string_view const> names)
{
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i != fields.size(); ++i) {
        auto const at = std::ranges::find_if(names, [&](auto name) { return iequals(fields[i].first, name); });
        if (at == names.end()) continue;
        auto const bit = std::uint64_t(1) << (at - names.begin());
        if ((seen & bit) != 0) return *at;
        seen |= bit;
    }
    return {};
}

bool is_loopback(std::string_view address)
{
    boost::system::error_code ec;
    auto const parsed = boost::asio::ip::make_address(std::string(address), ec);
    return !ec && parsed.is_loopback();
}

namespace {

/// The part of a Host header before the port, without brackets.
std::string_view name_in(std::string_view host)
{
    bool const v6 = host.starts_with('[');
    auto const end = v6 ? host.find(']') : host.find(':');
    return host.substr(v6 ? 1 : 0, end == host.npos ? end : end - (v6 ? 1 : 0));
}

} // namespace

bool is_address(std::string_view host)
{
    boost::system::error_code ec;
    boost::asio::ip::make_address(std::string(name_in(host)), ec);
    return !ec;
}

bool is_local_host(std::string_view host, std::span<std::string const> listed)
{
    auto name = name_in(host);
    auto const is_name = [&](std::string_view one) { return iequals(name, one); };
    if (std::ranges::any_of(listed, is_name)) return true;
    if (name.ends_with('.')) name.remove_suffix(1);
    constexpr std::string_view local = "localhost", under = ".localhost";
    if (is_name(local)) return true;
    if (name.size() > under.size() && iequals(name.substr(name.size() - under.size()), under)) return true;
    return is_loopback(name);
}

} // namespace quern::net::detail
