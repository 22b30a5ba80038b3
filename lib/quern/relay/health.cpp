#include <quern/relay/health.hpp>

#include <utility>

namespace quern::relay {

namespace asio = boost::asio;

std::optional<bool> health_rule::checked(bool good)
{
    if (good != down_) {
        in_a_row_ = 0;
        return {};
    }
    if (++in_a_row_ < (down_ ? up_after_ : down_after_)) return {};
    in_a_row_ = 0;
    down_ = !down_;
    return down_;
}

health_check::health_check(asio::any_io_executor ex, net::web_hook_sender& to, health_options o, clock& time)
    : sender_(to), options_(std::move(o)), time_(time), ended_(time, std::move(ex))
{}

/// Why it is not well; empty when it is.
asio::awaitable<std::string> health_check::check()
{
    net::web_hook_request request(options_.url);
    request.method = "GET";
    request.unix_socket = options_.unix_socket;
    request.headers.emplace_back("User-Agent", "quern");
    request.timeout = options_.timeout;
    auto const got = co_await sender_.send(std::move(request));
    auto const status =
        got ? got->status : got.error().status; // of an answer that broke off, whose rest nobody reads
    std::string why;
    if (status == 0)
        why = describe(got.error().why);
    else if (!options_.healthy.contains(status))
        why = "HTTP " + std::to_string(status);
    co_return why;
}

asio::awaitable<void> health_check::run(std::function<void(bool, std::string)> changed)
{
    health_rule rule(options_.down_after, options_.up_after);
    while (!over_) {
        auto why = co_await check();
        if (over_) break;
        if (auto const change = rule.checked(why.empty())) changed(*change, std::move(why));
        auto const next = time_.now() + options_.interval;
        co_await ended_.wait(next);
    }
}

asio::awaitable<std::optional<std::string>> health_check::well_within(std::chrono::milliseconds limit)
{
    auto const until = time_.now() + limit;
    std::optional<std::string> out;
    while (!over_) {
        auto why = co_await check();
        out.reset();
        if (why.empty()) break;
        out = std::move(why);
        auto const next = time_.now() + options_.interval;
        if (next > until) break;
        co_await ended_.wait(next);
    }
    co_return out;
}

void health_check::end()
{
    over_ = true;
    ended_.ring();
}

} // namespace quern::relay
