#include <quern/aws/config/detail/connecting.hpp>
#include <quern/aws/retry.hpp>
#include <quern/aws/web.hpp>
#include <quern/core/detail/random_part.hpp>
#include <quern/net/detail/web_hook_text.hpp>

#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <optional>
#include <utility>

namespace quern::aws {

using namespace detail;
using namespace quern::detail;
namespace asio = boost::asio;

namespace {

class network final : public web {
public:
    network(asio::any_io_executor ex, net::client_options options, environment variable)
        : executor_(std::move(ex)), options_(std::move(options)), variable_(std::move(variable))
    {}

    asio::awaitable<result<net::response>> send(web_request request) override
    {
        auto to = net::parse_url(request.url);
        if (!to) co_return failure(errc::invalid_request, to.error().message);
        net::web_hook_request what(std::move(*to));
        what.method = request.method;
        what.headers = std::move(request.headers);
        what.body = std::move(request.body);
        if (auto wrong = net::problem_of(what)) co_return std::move(*wrong);
        auto options = options_;
        if (request.is_next_door) options.proxy = ""; // none
        options.max_reply_bytes = request.max_reply_bytes;
        options = completed(std::move(options), what.to, variable_);
        std::optional<net::client> client;
        try {
            client.emplace(executor_, what.to, std::move(options));
        } catch (boost::system::system_error const& e) { // a file of authorities that has vanished, say
            co_return failure(errc::invalid_option, what.to.origin() + ": " + e.what());
        }
        net::request ask(net::detail::wire_text(what));
        ask.timeout = request.timeout;
        co_return co_await client->exchange(std::move(ask));
    }

private:
    asio::any_io_executor executor_;
    net::client_options options_;
    environment variable_;
};

} // namespace

std::unique_ptr<web> real_web(asio::any_io_executor ex, net::client_options options, environment variable)
{
    return std::make_unique<network>(std::move(ex), std::move(options), std::move(variable));
}

asio::awaitable<result<net::response>> fetch(
    web& via, clock& time, std::function<result<web_request>()> make, error_reader read_error, patience how)
{
    retry_options options;
    options.max_attempts = how.attempts;
    retry_quota quota(options.quota);
    retries rule(options, quota, false);
    bool is_corrected = false;
    auto const pause = time.make_timer(co_await asio::this_coro::executor);
    for (;;) {
        auto request = make();
        if (!request) co_return request.error();
        auto answer = co_await via.send(std::move(*request));
        if (answer && answer->status >= 200 && answer->status < 300) co_return answer;
        auto const why = answer ? read_error(*answer) : answer.error();
        bool const may_learn = answer && how.skew && !is_corrected;
        if (may_learn && how.skew->learn(why, answer->fields.find("date"), time.wall())) {
            is_corrected = true;
            continue;
        }
        if (!answer && !how.with_the_silent) co_return why;
        auto const next = rule.failed(why, {}, random_part());
        if (next.is != retry_advice::verdict::again) co_return why;
        auto const slept = co_await pause->wait_until(time.now() + next.wait);
        if (!slept) co_return failure(errc::stopped, "cancelled between two attempts");
    }
}

} // namespace quern::aws
