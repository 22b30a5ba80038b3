#pragma once

#include <quern/broker/detail/wire_encode.hpp>
#include <quern/net/detail/http_session.hpp>

#include <string>
#include <string_view>

namespace quern::broker::detail {

/// Answer to a request, with what SQS says in its headers.
struct http_answer : net::detail::http_answer {
    std::string query_error; ///< value of x-amzn-query-error, "<code>;Sender"; empty without an error
    std::string request_id;  ///< XML answers have it in the body too
    bool xml = false;        ///< in the query protocol

    http_answer() { content_type = json; }

    void clear()
    {
        net::detail::http_answer::clear();
        content_type = json;
        query_error.clear();
        xml = false;
    }

    answer_form form(std::string_view action) const { return {action, request_id, xml}; }
    std::string_view error_code() const { return std::string_view(query_error).substr(0, query_error.find(';')); }

private:
    static constexpr std::string_view json = "application/x-amz-json-1.0";
};

} // namespace quern::broker::detail
