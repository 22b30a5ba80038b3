#include <quern/broker/detail/http_rules.hpp>

#include <boost/asio/ip/address.hpp>
#include <boost/beast/core/string.hpp>

#include <algorithm>
#include <utility>

namespace quern::broker {

using boost::beast::iequals;

bool has_folded_header(std::string_view text)
{
    auto const header = text.substr(0, text.find("\r\n\r\n"));
    for (auto at = header.find("\r\n"); at != header.npos; at = header.find("\r\n", at + 2)) {
        if (at + 2 < header.size() && (header[at + 2] == ' ' || header[at + 2] == '\t')) return true;
    }
    return false;
}

framing framing_of(net::headers const& fields, int version)
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

std::string_view repeated_header(net::headers const& fields)
{
    static constexpr std::string_view names[] = {
        "host", "authorization", "x-amz-target", "x-amz-date", "x-amz-security-token", "x-amz-content-sha256"};
    bool seen[std::size(names)] = {};
    for (std::size_t i = 0; i != fields.size(); ++i) {
        auto const at = std::ranges::find_if(names, [&](auto name) { return iequals(fields[i].first, name); });
        if (at == std::end(names)) continue;
        if (std::exchange(seen[at - names], true)) return *at;
    }
    return {};
}

bool is_loopback(std::string_view address)
{
    boost::system::error_code ec;
    auto const parsed = boost::asio::ip::make_address(std::string(address), ec);
    return !ec && parsed.is_loopback();
}

bool is_local_host(std::string_view host, std::span<std::string const> listed)
{
    bool const v6 = host.starts_with('[');
    auto const end = v6 ? host.find(']') : host.find(':');
    auto name = host.substr(v6 ? 1 : 0, end == host.npos ? end : end - (v6 ? 1 : 0));
    auto const is_name = [&](std::string_view one) { return iequals(name, one); };
    if (std::ranges::any_of(listed, is_name)) return true;
    if (name.ends_with('.')) name.remove_suffix(1);
    constexpr std::string_view local = "localhost", under = ".localhost";
    if (is_name(local)) return true;
    if (name.size() > under.size() && iequals(name.substr(name.size() - under.size()), under)) return true;
    return is_loopback(name);
}

} // namespace quern::broker
