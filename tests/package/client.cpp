// Uses the installed package: its headers, its code and, through it, the separately compiled parts of Asio.

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>

#include <cstdio>
#include <exception>

namespace asio = boost::asio;

int main()
{
    asio::io_context io;
    asio::ssl::context tls(asio::ssl::context::tls_client);

    bool fired = false;
    auto wait = [&]() -> asio::awaitable<void> {
        auto const timer = quern::real_clock().make_timer(io.get_executor());
        fired = co_await timer->wait_until(quern::real_clock().now());
    };
    asio::co_spawn(io, wait, [](std::exception_ptr failed) {
        if (failed) {
            std::rethrow_exception(failed);
        }
    });
    io.run();

    std::puts(quern::describe(quern::failure(quern::errc::throttled, "an example")).c_str());
    return fired ? 0 : 1;
}
