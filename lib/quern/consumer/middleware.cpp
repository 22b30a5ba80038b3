#include <quern/consumer/middleware.hpp>

namespace quern::detail {

namespace asio = boost::asio;

namespace {

asio::awaitable<outcome> acknowledged(std::function<asio::awaitable<void>(delivery&)> const& handle, delivery& d)
{
    co_await handle(d);
    co_return ack();
}

asio::awaitable<outcome> called(std::function<outcome(delivery&)> const& handle, delivery& d)
{
    co_return handle(d);
}

} // namespace

// These coroutines refer to what lives in the std::function that began them.

handler as_coroutine(handlers what)
{
    if (what.plain) {
        return [handle = std::move(what.plain)](delivery& d) { return acknowledged(handle, d); };
    }
    if (what.call) {
        return [handle = std::move(what.call)](delivery& d) { return called(handle, d); };
    }
    return std::move(what.one);
}

handler link(middleware outer, handler inner)
{
    return [outer = std::move(outer), inner = std::move(inner)](delivery& d) { return outer(d, inner); };
}

} // namespace quern::detail
