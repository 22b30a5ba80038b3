#pragma once

#include <quern/core/error.hpp>

#include <memory>
#include <string>

namespace quern::sqs::detail {

/// Reads the JSON answers of SQS. Keeps the parser's buffers from one answer to the next.
///
/// Unknown members are ignored and null counts as absent; an empty body counts as {}.
///
/// Threads  one caller at a time.
class decoder {
public:
    decoder();
    ~decoder();
    decoder(decoder const&) = delete;
    decoder& operator=(decoder const&) = delete;

    /// For every answer of sqs/types.hpp and for receive_message_response. The body's capacity may grow (parsers
    /// read past the end); when it exceeds its size by net::response::padding, nothing is copied.
    ///
    /// A received message that lacks its id, receipt handle or body, or of which a part is unreadable, goes to
    /// `damaged`. It is the answer as a whole that fails when its JSON is broken or it holds more than ten messages.
    ///
    /// Fails with  errc::bad_reply  naming the member
    template <class Response>
    [[nodiscard]] result<Response> read(std::string& body);

private:
    struct parser;
    std::unique_ptr<parser> parser_;
};

} // namespace quern::sqs::detail
