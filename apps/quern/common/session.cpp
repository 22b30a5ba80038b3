#include "common/session.hpp"

#include <boost/asio/co_spawn.hpp>

#include <optional>
#include <utility>

namespace quern::app {

namespace asio = boost::asio;

int run(asio::io_context& io, asio::awaitable<int> work)
{
    std::optional<int> code;
    auto const ended = [&](std::exception_ptr bug, int returned) {
        if (bug) std::rethrow_exception(bug);
        code = returned;
    };
    asio::co_spawn(io, std::move(work), ended);
    while (!code && io.run_one() != 0) {
    }
    return code.value();
}

int run(session& s, work const& what)
{
    auto const code = run(s.io, what(s));
    s.sqs.close();
    if (s.consumers) s.consumers->close();
    s.io.run_for(std::chrono::seconds(1)); // what is left ends, so that nothing outlives the client
    return code;
}

int run(endpoint_options const& where, std::string_view queue, work const& what)
{
    auto options = client_options_from(where, queue, aws::process_environment);
    if (!options) return complain(options.error());
    session s(std::move(*options));
    return run(s, what);
}

} // namespace quern::app
