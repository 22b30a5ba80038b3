#pragma once

#include <quern/core/error.hpp>
#include <quern/net/detail/http_request.hpp>

#include <string>

namespace quern::broker::detail {

/// A request in the query protocol, as SDKs before 2024 and curl make them: an action and its parameters, as a form
/// in the body or in the query of the target.
struct query_call {
    std::string action; ///< "SendMessage"; empty when none is named
    std::string json; ///< the body that the same request has in the JSON protocol, with wire_decoder::padding behind
};

/// Whether a request is one: a form that is posted, or a GET with an Action.
bool is_query_call(net::detail::http_request const&);

/// The action that it names, decoded, or the beginning of a longer one; empty: none. Looks at no more of it than
/// that.
std::string action_of(net::detail::http_request const&);

/// Lists and maps are flat: AttributeName.1, MessageAttribute.2.Value.DataType. A map of one entry may come without a
/// position: Attribute.Name. Without a QueueUrl the path names the queue.
///
/// Fails with  SerializationException  more than 2,000 parameters, or one of more than ten parts
[[nodiscard]] result<query_call> read_query_call(net::detail::http_request const&);

} // namespace quern::broker::detail
