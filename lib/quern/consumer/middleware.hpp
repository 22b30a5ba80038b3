#pragma once

#include <quern/consumer/delivery.hpp>
#include <quern/consumer/handler.hpp>
#include <quern/consumer/outcome.hpp>

#include <boost/asio/awaitable.hpp>

#include <concepts>
#include <functional>
#include <utility>

namespace quern {

/// Function around a handler: `awaitable<outcome> m(delivery&, handler const& next)`. It awaits `next(d)`, not at
/// all, once or again, and returns what becomes of the message. An exception of the handler passes through it unless
/// it catches it, and so does its cancellation: catch neither for good.
using middleware = std::function<boost::asio::awaitable<outcome>(delivery&, handler const& next)>;

namespace detail {

/// The handler as a coroutine that returns an outcome, whatever it was.
handler as_coroutine(handlers);

handler link(middleware outer, handler inner);

template <class F>
handler chained(F last)
{
    static_assert(std::invocable<F&, delivery&>,
        "a chain ends with a handler of one message: no batches go through middleware");
    return as_coroutine(make_handlers(std::move(last)));
}

template <class First, class... Rest>
    requires(sizeof...(Rest) != 0)
handler chained(First first, Rest... rest)
{
    return link(middleware(std::move(first)), chained(std::move(rest)...));
}

} // namespace detail

/// A handler with middleware around it, the outermost first and the handler last:
///
///     quern::consumer c(io, url, quern::chain(measure, skip_what_is_done, quern::json<order>(decode, handle)));
///
/// Each takes a coroutine frame of its own for as long as the handler runs, half a kilobyte or so.
///
/// Lifetime  of what the functions capture: as long as the consumer; the handler that is made can be copied.
/// Threads   as the handler; with several, each function is called on several at once.
/// Throws    std::bad_function_call, when it is called, for an empty function.
template <class... Functions>
handler chain(Functions... functions)
{
    return detail::chained(std::move(functions)...);
}

} // namespace quern
