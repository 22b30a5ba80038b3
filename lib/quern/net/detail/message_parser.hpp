#pragma once

#include <quern/net/detail/http_request.hpp>
#include <quern/net/detail/http_rules.hpp>
#include <quern/net/message.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/version.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace quern::net::detail {

/// Interim answers (1xx) that are passed over before the real one. Time bounds them: a slow service that says 102
/// each second keeps its proxies calm for the 12 hours of the longest request. This bounds what a flood costs.
constexpr int most_interim_answers = 100'000;

/// How many bytes of a body in chunks Beast has to be shown at least. Until Boost 1.86 it takes the last chunk in
/// one piece, of which "0\r\n\r\n" is the shortest, and asserts that it is never shown less; from 1.87 on it takes
/// "0\r\n" by itself and then waits for the two bytes behind it.
constexpr std::size_t least_of_chunks = BOOST_VERSION >= 108700 ? 1 : 5;

/// Beast's incremental parser, writing straight into a message. Stricter than Beast where two readers of one message
/// might disagree about its end: a header in several lines, and a Transfer-Encoding other than one `chunked`, are
/// refused. Trailers are dropped.
template <class Message>
class message_parser final : public boost::beast::http::basic_parser<std::is_same_v<Message, http_request>> {
public:
    message_parser(Message& out, std::size_t max_header, std::size_t max_body) : out_(out), header_left_(max_header)
    {
        this->header_limit(static_cast<std::uint32_t>(max_header));
        this->body_limit(max_body);
        this->eager(true);
        if (!is_request) out.fields.reserve_usual();
    }

    /// Like put(), to which `text` has to be given again from where it stopped.
    std::size_t read(boost::asio::const_buffer text, boost::system::error_code& ec)
    {
        namespace http = boost::beast::http;
        ec = {};
        if (this->is_header_done() && this->chunked() && text.size() < least_of_chunks)
            ec = http::error::need_more;
        else if (!this->is_header_done() && has_folded_header({static_cast<char const*>(text.data()), text.size()}))
            ec = http::error::bad_obs_fold;
        return ec ? 0 : this->put(text, ec);
    }

    /// From now on the body is counted, but not kept.
    void drop_body() { keeps_body_ = false; }

    /// The body's coding is none that we know: 501 rather than 400.
    bool unsupported_coding() const { return framing_ == framing::unsupported; }

private:
    using error = boost::beast::error_code;
    using view = boost::beast::string_view;

    static constexpr bool is_request = std::is_same_v<Message, http_request>;

    void on_request_impl(boost::beast::http::verb, view method, view target, int version, error& ec) override
    {
        if constexpr (is_request) {
            version_ = version;
            out_.method.assign(method.data(), method.size());
            out_.target.assign(target.data(), target.size());
            spend(method.size() + target.size(), ec);
        }
    }
    void on_response_impl(int status, view, int version, error&) override
    {
        if constexpr (!is_request) {
            version_ = version;
            out_.status = status;
        }
    }
    void on_field_impl(boost::beast::http::field, view name, view value, error& ec) override
    {
        // A trailer counts, but is no header: whatever was looked at in the headers must not change any more.
        if (!in_trailers_) out_.fields.add({name.data(), name.size()}, {value.data(), value.size()});
        spend(name.size() + value.size() + 4, ec);
    }
#if BOOST_VERSION >= 109000
    void on_trailer_field_impl(boost::beast::http::field id, view name, view value, error& ec) override
    {
        on_field_impl(id, name, value, ec);
    }
#endif
    void on_header_impl(error& ec) override
    {
        in_trailers_ = true;
        framing_ = framing_of(out_.fields, version_);
        if (framing_ != framing::sound) ec = boost::beast::http::error::bad_transfer_encoding;
    }
    void on_body_init_impl(boost::optional<std::uint64_t> const& length, error&) override
    {
        // The declared length is a claim: memory beyond a first piece is only taken as bytes arrive.
        constexpr std::uint64_t first_piece = is_request ? 8 * 1024 : 1024 * 1024;
        out_.body.reserve(std::min(length.value_or(0), first_piece) + Message::padding);
    }
    std::size_t on_body_impl(view piece, error&) override
    {
        if (keeps_body_) out_.body.append(piece.data(), piece.size());
        return piece.size();
    }
    void on_chunk_header_impl(std::uint64_t, view, error&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, view piece, error& ec) override
    {
        return on_body_impl(piece, ec);
    }
    void on_finish_impl(error&) override
    {
        out_.body.reserve(out_.body.size() + Message::padding);
    }

    /// Beast's own limit looks at what one put() sees, not at the sum of headers that come piece by piece.
    void spend(std::size_t bytes, error& ec)
    {
        if (bytes > header_left_)
            ec = boost::beast::http::error::header_limit;
        else
            header_left_ -= bytes;
    }

    Message& out_;
    std::size_t header_left_;
    int version_ = 11;
    framing framing_ = framing::sound;
    bool in_trailers_ = false;
    bool keeps_body_ = true;
};

using request_parser = message_parser<http_request>;
using reply_parser = message_parser<response>;

} // namespace quern::net::detail
