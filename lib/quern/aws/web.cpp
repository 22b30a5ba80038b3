#include <quern/aws/config/detail/connecting.hpp>
#include <quern/aws/detail/signing/canonical.hpp>
#include <quern/aws/retry.hpp>
#include <quern/aws/web.hpp>
#include <quern/core/detail/random_part.hpp>

#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace quern::aws {

namespace asio = boost::asio;

namespace {

class network final : public web {
public:
    network(asio::any_io_executor ex, net::client_options options, environment variable)
        : executor_(std::move(ex)), options_(std::move(options)), variable_(std::move(variable))
    {}

    asio::awaitable<result<net::response>> send(web_request request) override
    {
        auto const address = parse_address(request.url);
        if (!address) co_return address.error();
        auto text = wire_text(request, *address);
        if (!text) co_return text.error();
        auto options = options_;
        if (request.is_next_door) options.proxy = ""; // none
        options.max_reply_bytes = request.max_reply_bytes;
        options = completed(std::move(options), address->at, variable_);
        std::optional<net::client> client;
        try {
            client.emplace(executor_, address->at, std::move(options));
        } catch (boost::system::system_error const& e) { // a file of authorities that has vanished, say
            co_return failure(errc::invalid_option, address->at.origin() + ": " + e.what());
        }
        net::request ask(std::move(*text));
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

result<web_address> parse_address(std::string_view url)
{
    auto const mark = std::min(url.find('?'), url.size());
    auto at = net::parse_endpoint(url.substr(0, mark));
    if (!at) return failure(errc::invalid_request, at.error().message);
    auto const query = url.substr(mark);
    auto const odd = [](unsigned char c) { return c <= ' ' || c >= 0x7f || c == '#'; };
    if (std::ranges::any_of(query, odd)) {
        return failure(errc::invalid_request, "the query of the URL contains a character that it may not");
    }
    web_address out{std::move(*at), {}};
    out.target = out.at.path;
    out.target += query;
    return out;
}

result<std::string> wire_text(web_request const& request, web_address const& to)
{
    auto text = request.method + ' ' + to.target + " HTTP/1.1\r\nhost: " + to.at.authority() + "\r\n";
    for (auto const& [name, value] : request.headers) {
        if (has_control_character(name) || has_control_character(value)) {
            return failure(errc::invalid_request,
                "the header " + name + " would contain a line break or another control character");
        }
        text.append(name).append(": ").append(value).append("\r\n");
    }
    if (!request.body.empty() || request.method != "GET") {
        text.append("content-length: ").append(std::to_string(request.body.size())).append("\r\n");
    }
    return text.append("\r\n").append(request.body);
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
