#pragma once

#include <quern/net/detail/http_request.hpp>
#include <quern/net/detail/http_rules.hpp>
#include <quern/net/detail/least_of_chunks.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/version.hpp>

#include <algorithm>
#include <cstdint>

namespace quern::net {

/// Beast's incremental parser, writing straight into a http_request.
class request_parser final : public boost::beast::http::basic_parser<true> {
public:
    request_parser(http_request& out, std::size_t max_header, std::size_t max_body)
        : out_(out), header_left_(max_header)
    {
        header_limit(static_cast<std::uint32_t>(max_header));
        body_limit(max_body);
        eager(true);
    }

    /// Like put(), to which `text` has to be given again from where it stopped. Refuses a header in several lines.
    std::size_t read(boost::asio::const_buffer text, boost::system::error_code& ec)
    {
        ec = {};
        if (is_header_done() && chunked() && text.size() < least_of_chunks)
            ec = boost::beast::http::error::need_more;
        else if (!is_header_done() && has_folded_header({static_cast<char const*>(text.data()), text.size()}))
            ec = boost::beast::http::error::bad_field;
        return ec ? 0 : put(text, ec);
    }

    /// From now on the body is counted, but not kept.
    void drop_body() { keeps_body_ = false; }

    /// The body's coding is none that we know: 501 rather than 400.
    bool unsupported_coding() const { return framing_ == framing::unsupported; }

private:
    using error = boost::beast::error_code;
    using view = boost::beast::string_view;

    void on_request_impl(boost::beast::http::verb, view method, view target, int version, error& ec) override
    {
        version_ = version;
        out_.method.assign(method.data(), method.size());
        out_.target.assign(target.data(), target.size());
        spend(method.size() + target.size(), ec);
    }
    void on_response_impl(int, view, int, error&) override {}
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
        constexpr std::uint64_t first_piece = 8 * 1024;
        out_.body.reserve(std::min(length.value_or(0), first_piece) + http_request::padding);
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
        out_.body.reserve(out_.body.size() + http_request::padding);
    }

    /// Beast's own limit looks at what one put() sees, not at the sum of headers that come piece by piece.
    void spend(std::size_t bytes, error& ec)
    {
        if (bytes > header_left_)
            ec = boost::beast::http::error::header_limit;
        else
            header_left_ -= bytes;
    }

    http_request& out_;
    std::size_t header_left_;
    int version_ = 11;
    framing framing_ = framing::sound;
    bool in_trailers_ = false;
    bool keeps_body_ = true;
};

} // namespace quern::net
