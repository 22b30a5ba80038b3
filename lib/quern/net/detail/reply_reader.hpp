#pragma once

#include <quern/core/error.hpp>
#include <quern/net/detail/message_parser.hpp>

#include <boost/beast/core/flat_buffer.hpp>

#include <optional>
#include <string_view>

namespace quern::net::detail {

/// Reads one answer out of what arrives, and passes over the interim ones before it.
class reply_reader {
public:
    /// `is_bare`: the request was HEAD; the answer has no body, whatever its headers say.
    reply_reader(response& out, std::size_t max_header, std::size_t max_body, bool is_bare = false)
        : out_(out), max_header_(max_header), max_body_(max_body), is_bare_(is_bare)
    {
        out.fields.reserve_usual();
    }

    /// Takes what belongs to the answer off the buffer.
    ///
    /// Fails with  errc::bad_reply, reply_too_large
    [[nodiscard]] std::optional<failure> take(boost::beast::flat_buffer& unread);

    /// The connection has ended. True when that was the end of the answer: one that has no length.
    bool ends_here();

    bool is_done() const { return parser_ && parser_->is_done(); }
    bool has_begun() const { return parser_ && (parser_->got_some() || holds_line_); }

    /// Status and headers are whole, though the body may be broken off or too large.
    bool has_headers() const
    {
        return parser_ && (parser_->is_header_done() || is_body_too_large_) && out_.status / 100 != 1;
    }

    /// "in the body of the answer": where it would be cut off now.
    std::string_view phase() const
    {
        if (!has_begun()) return "before the answer began";
        return has_headers() ? "in the body of the answer" : "in the headers of the answer";
    }

    /// Nothing can follow it on this connection.
    bool is_last() const { return !parser_->keep_alive() || parser_->need_eof(); }

    /// Bytes of the body that are announced and have not come; 0 when nobody knows.
    std::size_t expected() const
    {
        return parser_ && parser_->is_header_done() ? parser_->content_length_remaining().value_or(0) : 0;
    }

private:
    void begin()
    {
        at_start_ = true;
        parser_.emplace(out_, max_header_, max_body_);
        if (is_bare_) parser_->skip(true);
    }

    response& out_;
    std::optional<reply_parser> parser_; ///< empty until something has come that another could not read
    std::size_t max_header_, max_body_;
    int interim_ = 0;
    bool is_bare_;
    bool at_start_ = true; ///< nothing of the status line is read
    bool holds_line_ = false;
    bool is_body_too_large_ = false;
};

} // namespace quern::net::detail
