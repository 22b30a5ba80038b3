#pragma once

#include <quern/core/error.hpp>
#include <quern/net/detail/http_request.hpp>
#include <quern/sqs/types.hpp>

#include <cstddef>
#include <memory>
#include <string_view>

namespace quern::broker::detail {

/// Reads the JSON bodies of requests, as the SQS service model (API version 2012-11-05) names their members.
///
/// Members   null counts as absent, unknown ones are skipped. An empty body is {}. Limits are the engine's business.
/// Threads   none; one caller at a time. The parser's buffers are kept from call to call, unless they become large.
class wire_decoder {
public:
    /// Bytes behind the body that are read, whatever is in them: SIMD works in blocks.
    static constexpr std::size_t padding = net::detail::http_request::padding;

    wire_decoder();
    ~wire_decoder();

    /// Request is one of the 23 requests in sqs/types.hpp; everything is copied out of the body.
    ///
    /// Fails with  SerializationException  no JSON object, or a member of another type; the message names it
    ///             MissingParameter        a member that the model requires is not there
    template <class Request>
    [[nodiscard]] result<Request> decode(std::string_view body);

    /// Length of a body that the parser has buffers for.
    std::size_t capacity() const;
    static constexpr std::size_t kept = net::detail::http_request::kept; ///< it keeps no larger ones

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace quern::broker::detail
