#pragma once

#include <quern/net/message.hpp>

#include <span>
#include <string>
#include <string_view>

namespace quern::net::detail {

// What our servers refuse of HTTP although a lenient server would make sense of it. Where two readers of one request
// may disagree about its end, its target or its host, an attacker chooses the reader.

/// A header line that goes on in the next one (RFC 9112, 5.2), in what has arrived so far of a header.
bool has_folded_header(std::string_view text);

/// How a body may be framed: by Content-Length, or by exactly "chunked", which HTTP/1.0 does not know.
enum class framing { sound, bad, unsupported };
framing framing_of(headers const&, int version); ///< version as Beast counts: 10, 11

/// One of these names, 64 at most, that comes twice; empty: none does. Ask for those that decide what is asked for,
/// by whom and where.
std::string_view repeated_header(headers const&, std::span<std::string_view const> names);

/// Whether an IP address, without brackets, is one of the loopback.
bool is_loopback(std::string_view address);

/// Whether a Host header names an IP address, with or without a port: then no name was looked up that its owner could
/// turn.
bool is_address(std::string_view host);

/// Whether a Host header names this machine's loopback, or one of the names listed. "localhost", names under it, and
/// addresses; with or without a port. Browsers send any name whose owner lets it resolve to 127.0.0.1.
bool is_local_host(std::string_view host, std::span<std::string const> listed);

} // namespace quern::net::detail
