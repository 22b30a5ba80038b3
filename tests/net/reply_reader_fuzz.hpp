#pragma once

#include <quern/net/detail/message_parser.hpp>
#include <quern/net/detail/plain_reply.hpp>

#include <boost/asio/buffer.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

/// Reads any bytes as an answer, with both readers: what the one for plain answers takes, Beast's parser has to take
/// as well, and read the same in it. Throws std::logic_error where they disagree. For a fuzzer as much as for tests.
///
/// Returns whether it is a plain answer.
inline bool reply_reader_fuzz(std::string_view bytes)
{
    namespace net = quern::net;
    constexpr std::size_t max_header = 1024, max_body = 64 * 1024;
    auto const agree = [&](bool good, char const* what) {
        if (!good) throw std::logic_error(std::string(what) + " of: " + std::string(bytes));
    };

    net::response plain;
    auto const size = net::detail::read_plain_reply(bytes, max_header, max_body, plain);
    if (size == 0) {
        agree(plain.fields.size() == 0 && plain.body.empty() && plain.status == 0, "something is left");
        return false;
    }

    net::response whole;
    net::detail::reply_parser parser(whole, max_header, max_body);
    std::size_t used = 0;
    while (used < bytes.size() && !parser.is_done()) {
        boost::beast::error_code ec;
        auto const rest = bytes.substr(used);
        used += parser.read(boost::asio::const_buffer(rest.data(), rest.size()), ec);
        agree(!ec, ec.message().c_str());
    }
    agree(parser.is_done() && used == size, "the end");
    agree(parser.keep_alive() && !parser.need_eof() && !parser.upgrade(), "the connection's fate");
    agree(whole.status == plain.status, "the status");
    agree(whole.body == plain.body, "the body");
    agree(plain.body.capacity() >= plain.body.size() + net::response::padding, "the room behind the body");
    agree(whole.fields.size() == plain.fields.size(), "the number of headers");
    for (std::size_t i = 0; i < whole.fields.size(); ++i)
        agree(whole.fields[i] == plain.fields[i], "a header");
    return true;
}
