#pragma once

#include <quern/core/error.hpp>
#include <quern/net/detail/least_of_chunks.hpp>
#include <quern/net/message.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/version.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>

namespace quern::net {

/// Interim answers (1xx) that are passed over before the real one.
constexpr int most_interim_answers = 8;

/// Beast's incremental parser, writing straight into a net::response. Stricter than Beast where two readers of one
/// answer might disagree about its end: a header in several lines, and a Transfer-Encoding other than `chunked`, are
/// refused. Trailers are dropped.
class reply_parser final : public boost::beast::http::basic_parser<false> {
public:
    reply_parser(response& out, std::size_t max_header, std::size_t max_body)
        : out_(out), room_for_trailers_(max_header)
    {
        header_limit(static_cast<std::uint32_t>(max_header));
        body_limit(max_body);
        eager(true);
        out.fields.reserve_usual();
    }

    /// Like put(), to which `text` has to be given again from where it stopped.
    std::size_t read(boost::asio::const_buffer text, boost::beast::error_code& ec)
    {
        ec = {};
        if (is_header_done() && chunked() && text.size() < least_of_chunks)
            ec = boost::beast::http::error::need_more;
        else if (!is_header_done() && has_folded_line({static_cast<char const*>(text.data()), text.size()}))
            ec = boost::beast::http::error::bad_obs_fold;
        return ec ? 0 : put(text, ec);
    }

private:
    using error = boost::beast::error_code;
    using view = boost::beast::string_view;

    static bool has_folded_line(std::string_view head)
    {
        for (auto end = head.find('\n'); end < head.size() - 1; end = head.find('\n', end + 1)) {
            auto const next = head[end + 1];
            if (next == '\r') return false; // the empty line
            if (next == ' ' || next == '\t') return true;
        }
        return false;
    }

    void on_request_impl(boost::beast::http::verb, view, view, int, error&) override {}
    void on_response_impl(int status, view, int version, error&) override
    {
        out_.status = status;
        version_ = version;
    }
    void on_field_impl(boost::beast::http::field id, view name, view value, error& ec) override
    {
        if (is_header_done()) return count_trailer(name.size() + value.size(), ec);
        bool const is_framing = id == boost::beast::http::field::transfer_encoding;
        if (is_framing && (version_ < 11 || !boost::beast::iequals(value, "chunked"))) {
            ec = boost::beast::http::error::bad_transfer_encoding;
            return;
        }
        out_.fields.add({name.data(), name.size()}, {value.data(), value.size()});
    }
#if BOOST_VERSION >= 109000
    void on_trailer_field_impl(boost::beast::http::field id, view name, view value, error& ec) override
    {
        on_field_impl(id, name, value, ec);
    }
#endif
    void on_header_impl(error&) override {}
    void on_body_init_impl(boost::optional<std::uint64_t> const& length, error&) override
    {
        // The declared length is a claim: memory beyond a first piece is only taken as bytes arrive.
        constexpr std::uint64_t first_piece = 1024 * 1024;
        out_.body.reserve(std::min(length.value_or(0), first_piece) + response::padding);
    }
    std::size_t on_body_impl(view piece, error&) override
    {
        out_.body.append(piece.data(), piece.size());
        return piece.size();
    }
    void on_chunk_header_impl(std::uint64_t, view, error&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, view piece, error& ec) override
    {
        return on_body_impl(piece, ec);
    }
    void on_finish_impl(error&) override
    {
        out_.body.reserve(out_.body.size() + response::padding);
    }

    void count_trailer(std::size_t size, error& ec)
    {
        if (size > room_for_trailers_) ec = boost::beast::http::error::header_limit;
        room_for_trailers_ -= std::min(size, room_for_trailers_);
    }

    response& out_;
    std::size_t room_for_trailers_;
    int version_ = 11;
};

} // namespace quern::net
