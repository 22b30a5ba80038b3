#pragma once

#include <quern/core/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace quern::net {

/// Where requests go: the origin of an http or https URL, and its path.
struct endpoint {
    bool tls = true;
    std::string host; ///< a name or an address; IPv6 without brackets
    std::uint16_t port = 443;
    std::string path = "/"; ///< at least "/"

    /// Value of the Host header: with the port only where it is not the scheme's own.
    std::string authority() const;

    /// "https://sqs.eu-west-1.amazonaws.com", without the path.
    std::string origin() const { return (tls ? "https://" : "http://") + authority(); }
};

/// "localhost", 127.0.0.0/8 or ::1.
bool is_this_machine(std::string_view host);

/// The URL as it may be shown to anybody: without what stands before the last '@', where a password may have slashes
/// that should have been encoded, and without its query.
std::string shown_url(std::string_view url);

/// Reads an absolute http or https URL. Refuses user info, a query, a fragment and a port outside 1..65535.
[[nodiscard]] result<endpoint> parse_endpoint(std::string_view url);

/// The same for a URL that may have a query: it is part of the path.
[[nodiscard]] result<endpoint> parse_url(std::string_view url);

} // namespace quern::net
