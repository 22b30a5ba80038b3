#pragma once

#include "hidden_messages.hpp"

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace yardstick {

/// The head of an HTTP request, as far as it matters here.
struct http_head {
    std::string_view method, target, host;
    std::string_view action;        ///< what follows the dot in X-Amz-Target
    std::size_t head = 0, body = 0; ///< bytes of either
    bool close = false;             ///< the client does not keep the connection
    bool expects = false;           ///< it waits for 100 Continue before it sends the body
    bool understood = false;        ///< else the connection cannot be read any further
};

/// The head at the front of `data`, once it is there whole.
std::optional<http_head> read_head(std::string_view data);

/// One thing to be done to one message.
struct entry {
    std::string_view id, handle;
    std::optional<std::int64_t> visibility;
};

/// An SQS request in the JSON protocol, read. Views into the request.
struct call {
    std::string_view queue_name;
    std::int64_t max = 1;
    std::optional<std::int64_t> visibility, wait;
    std::vector<std::string_view> attributes; ///< system attributes that are wanted
    std::vector<entry> entries;               ///< one, where the operation is no batch
    bool understood = true;
};

/// Reads bodies of requests, again and again into the same call.
class call_reader {
public:
    /// `body` has simdjson::SIMDJSON_PADDING readable bytes behind it.
    call const& read(std::string_view body);

private:
    simdjson::ondemand::parser parser_;
    call call_;
};

} // namespace yardstick
