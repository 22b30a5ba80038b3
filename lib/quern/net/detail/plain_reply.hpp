#pragma once

#include <quern/net/message.hpp>

#include <cstddef>
#include <string_view>

namespace quern::net::detail {

/// Reads an answer of the kind that AWS sends, when it has arrived whole: HTTP/1.1 200 OK, headers of one plain line
/// each, one Content-Length. Beast's parser takes twice as long. Whatever this takes, that one takes as well, and
/// reads the same in it.
///
/// Returns the length of head and body; 0, and nothing in `out`, for all else: it is Beast's to read and to refuse.
std::size_t read_plain_reply(std::string_view text, std::size_t max_header, std::size_t max_body, response& out);

} // namespace quern::net::detail
