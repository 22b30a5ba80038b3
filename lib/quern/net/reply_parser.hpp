#pragma once

#include <quern/core/error.hpp>
#include <quern/net/message.hpp>

#include <boost/beast/http/basic_parser.hpp>

#include <cstdint>
#include <limits>

namespace quern::net {

/// Beast's incremental parser, writing straight into a net::response.
class reply_parser final : public boost::beast::http::basic_parser<false> {
public:
    reply_parser(response& out, std::size_t max_header, std::size_t max_body) : out_(out)
    {
        header_limit(static_cast<std::uint32_t>(max_header));
        body_limit(max_body);
        eager(true);
        out.fields.reserve_usual();
    }

private:
    using error = boost::beast::error_code;
    using view = boost::beast::string_view;

    void on_request_impl(boost::beast::http::verb, view, view, int, error&) override {}
    void on_response_impl(int status, view, int, error&) override { out_.status = status; }
    void on_field_impl(boost::beast::http::field, view name, view value, error&) override
    {
        out_.fields.add({name.data(), name.size()}, {value.data(), value.size()});
    }
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
    std::size_t on_chunk_body_impl(std::uint64_t, view piece, error& ec) override { return on_body_impl(piece, ec); }
    void on_finish_impl(error&) override { out_.body.reserve(out_.body.size() + response::padding); }

    response& out_;
};

} // namespace quern::net
