#include <quern/services/app_config_agent.hpp>

#include <quern/aws/detail/error_reply.hpp>
#include <quern/aws/detail/signing/canonical.hpp>
#include <quern/aws/web.hpp>

#include <boost/asio/this_coro.hpp>

#include <utility>

namespace quern::services {

agent_options agent_options::from(aws::environment const& variable)
{
    agent_options out;
    if (auto const port = variable("AWS_APPCONFIG_EXTENSION_HTTP_PORT"); !port.empty())
        out.url = "http://localhost:" + port;
    out.token = variable("ACCESS_TOKEN");
    return out;
}

boost::asio::awaitable<result<std::string>> read_from_agent(agent_options options, configuration_name what)
{
    auto const ex = co_await boost::asio::this_coro::executor;
    auto const web = aws::real_web(ex);
    aws::web_request ask(options.url + "/applications/" + aws::detail::uri_encode(what.application) +
        "/environments/" + aws::detail::uri_encode(what.environment) + "/configurations/" +
        aws::detail::uri_encode(what.profile));
    if (!options.token.empty()) ask.headers.emplace_back("authorization", "Bearer " + options.token);
    ask.timeout = options.timeout;
    ask.is_next_door = true;
    ask.max_reply_bytes = 4 * 1024 * 1024; // AppConfig keeps 2 MB at most
    auto answer = co_await web->send(std::move(ask));
    if (!answer) co_return answer.error();
    if (answer->status < 200 || answer->status >= 300) co_return aws::detail::decode_error(*answer);
    co_return std::move(answer->body);
}

} // namespace quern::services
