#include <quern/relay/detail/oauth2.hpp>

#include <quern/aws/detail/signing/canonical.hpp>
#include <quern/core/detail/printable.hpp>
#include <quern/core/detail/text/base64.hpp>
#include <quern/core/detail/text/characters.hpp>
#include <quern/core/detail/text/json_find.hpp>
#include <quern/core/detail/text/reading.hpp>
#include <quern/relay/detail/watched_file.hpp>
#include <quern/relay/relay.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace quern::relay::detail {

using namespace quern::detail;
namespace {

failure no_token(std::string const& why)
{
    return failure(errc::no_credentials, "no token by OAuth2: " + why, true);
}

class token_source final : public aws::credentials_source {
public:
    token_source(net::web_hook_sender& to, oauth2_options o, clock& time)
        : sender_(to), options_(std::move(o)), time_(time)
    {
        if (!options_.secret_file.empty()) file_.emplace(options_.secret_file);
    }

    boost::asio::awaitable<result<aws::credentials>> load() override
    {
        auto secret = file_ ? file_->read() : result<std::string>(options_.secret);
        if (!secret) co_return no_token(secret.error().message);
        auto request = token_request(options_, *secret);
        auto const asked_at = time_.wall();
        auto const got = co_await sender_.send(std::move(request));
        if (!got) co_return no_token(options_.token_url.origin() + ": " + describe(got.error().why));
        co_return token_in(*got, asked_at);
    }

private:
    net::web_hook_sender& sender_;
    oauth2_options const options_;
    clock& time_;
    std::optional<watched_file> file_;
};

} // namespace

net::web_hook_request token_request(oauth2_options const& o, std::string_view secret)
{
    net::web_hook_request out(o.token_url);
    out.timeout = o.timeout;
    out.headers = {{"Content-Type", "application/x-www-form-urlencoded"}, {"Accept", "application/json"}};
    out.body = "grant_type=client_credentials";
    auto const add = [&](char const* name, std::string_view value) {
        if (!value.empty()) out.body.append("&").append(name).append("=").append(aws::detail::uri_encode(value));
    };
    add("scope", o.scope);
    add("audience", o.audience);
    if (o.secret_in_body) {
        add("client_id", o.client_id);
        add("client_secret", secret);
    } else {
        auto const pair = aws::detail::uri_encode(o.client_id) + ':' + aws::detail::uri_encode(secret);
        out.headers.emplace_back("Authorization", "Basic " + text::base64_encode(pair));
    }
    return out;
}

result<aws::credentials> token_in(net::response const& answer, wall_time asked_at)
{
    auto const word = [&](char const* name) { return text::find_json_word(answer.body, name); };
    if (answer.status != 200) {
        auto const name = word("/error").value_or(std::string()).substr(0, 100);
        return no_token("HTTP " + std::to_string(answer.status) + (name.empty() ? "" : " " + printable(name)));
    }
    auto token = word("/access_token");
    if (!token || token->empty()) return no_token("the answer has no access_token");
    auto const type = word("/token_type").value_or("bearer");
    if (!text::equal_ignoring_case(type, "bearer")) return no_token("the token's type is not bearer");
    aws::credentials out{"oauth2", "oauth2", std::move(*token)};
    if (auto const flaw = aws::flaw_of(out)) return no_token(*flaw);
    auto const life = text::number_in<double>(word("/expires_in").value_or(std::string()));
    if (life)
        out.expires_at = asked_at + std::chrono::seconds(static_cast<std::int64_t>(std::clamp(*life, 0.0, 1e9)));
    return out;
}

std::unique_ptr<aws::credentials_source> tokens_of(net::web_hook_sender& to, oauth2_options o, clock& time)
{
    return std::make_unique<token_source>(to, std::move(o), time);
}

} // namespace quern::relay::detail
