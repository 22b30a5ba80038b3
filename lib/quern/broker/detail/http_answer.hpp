#pragma once

#include <quern/core/error.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace quern::broker {

/// Answer to a request. Its buffers serve one answer after another.
struct http_answer {
    int status = 200;
    std::string_view content_type = "application/x-amz-json-1.0";
    std::string query_error;  ///< value of x-amzn-query-error, "<code>;Sender"; empty without an error
    std::string more_headers; ///< "\r\nName: value", any number of them
    std::string body;
    std::string request_id; ///< XML answers have it in the body too
    bool xml = false;       ///< in the query protocol
    bool keep_alive = true;

    void clear()
    {
        status = 200;
        content_type = "application/x-amz-json-1.0";
        query_error.clear();
        more_headers.clear();
        body.clear();
        trim();
        keep_alive = true;
        xml = false;
    }
    /// The answer has been written: its body goes if it was a large one.
    void trim()
    {
        if (body.capacity() > kept) std::string().swap(body);
    }

    static constexpr std::size_t kept = 256 * 1024; ///< an idle connection keeps no larger buffer

    std::string_view error_code() const { return std::string_view(query_error).substr(0, query_error.find(';')); }
};

/// Appends the answer as it goes over the wire.
void write_answer(std::string& wire, http_answer const&, std::string_view date);

} // namespace quern::broker
