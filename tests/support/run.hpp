#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <optional>
#include <stdexcept>

namespace quern::test {

/// Runs until the coroutine has ended, and returns its value or throws what it threw. What else was spawned on the
/// context may be unfinished by then.
template <class T>
T run(boost::asio::io_context& io, boost::asio::awaitable<T> work)
{
    std::optional<T> out;
    std::exception_ptr thrown;
    auto const done = [&](std::exception_ptr e, T value) {
        thrown = e;
        if (!e) out.emplace(std::move(value));
        io.stop();
    };
    boost::asio::co_spawn(io, std::move(work), done);
    io.restart();
    io.run();
    if (thrown) std::rethrow_exception(thrown);
    if (!out) throw std::logic_error("the coroutine never ended");
    return std::move(*out);
}

template <class T>
T run(boost::asio::awaitable<T> work)
{
    boost::asio::io_context io;
    return run(io, std::move(work));
}

} // namespace quern::test
