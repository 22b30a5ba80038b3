#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace quern::net::detail {

/// Errors are values: `auto const [ec, size] = co_await socket.async_read_some(room, as_values)`.
inline constexpr auto as_values = boost::asio::as_tuple(boost::asio::use_awaitable);

} // namespace quern::net::detail
