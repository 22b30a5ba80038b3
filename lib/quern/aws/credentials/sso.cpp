#include <quern/aws/credentials/detail/credential_json.hpp>
#include <quern/aws/credentials/sso.hpp>
#include <quern/aws/detail/error_reply.hpp>
#include <quern/aws/detail/signing/canonical.hpp>
#include <quern/core/detail/text/date.hpp>
#include <quern/core/detail/text/digest.hpp>
#include <quern/core/detail/text/json_writer.hpp>

#include <charconv>

namespace quern::aws {

using namespace detail;
using namespace quern::detail;

using boost::asio::awaitable;

namespace {

failure sign_in(std::string const& why)
{
    return failure(errc::no_credentials, "SSO: " + why + ": run `aws sso login` with this profile");
}

web_request renewal(regional_endpoint const& oidc, sso_token const& token)
{
    web_request request(oidc.url);
    while (request.url.ends_with('/'))
        request.url.pop_back();
    request.url += "/token";
    request.method = "POST";
    request.headers.emplace_back("content-type", "application/json");
    text::json_writer out(request.body);
    out.begin_object();
    out.member("clientId", token.client_id).member("clientSecret", token.client_secret);
    out.member("grantType", "refresh_token").member("refreshToken", token.refresh_token);
    out.end_object();
    return request;
}

/// The token as it is after an answer to its renewal.
std::optional<sso_token> renewed(sso_token token, std::string_view answer, wall_time now)
{
    auto const said = read_flat_json(answer);
    if (!said || said->get("accesstoken").empty()) return {};
    token.access_token = said->get("accesstoken");
    auto const lifetime = said->get("expiresin");
    int seconds = 0;
    std::from_chars(lifetime.data(), lifetime.data() + lifetime.size(), seconds);
    token.expires_at = now + std::chrono::seconds(seconds);
    if (auto next = said->get("refreshtoken"); !next.empty()) token.refresh_token = std::move(next);
    return token;
}

awaitable<result<sso_token>> usable_token(
    surroundings const& around, regional_endpoint oidc, sso_profile const& profile)
{
    auto const path = sso_cache_file(around.variable, profile);
    auto const text = around.files.read(path);
    if (!text) co_return sign_in(path + " cannot be read (" + text.error().code.message() + ')');
    auto token = parse_sso_token(*text);
    if (!token) co_return sign_in(path + " holds no token");
    if (profile.session.empty()) token->refresh_token.clear();
    auto const is = token->at(around.time.wall());
    if (is == sso_token::state::expired) co_return sign_in("the session has expired");
    if (is == sso_token::state::good) co_return *token;

    std::function<result<web_request>()> const make = [&]() -> result<web_request> { return renewal(oidc, *token); };
    auto const answer = co_await fetch(around.http, around.time, make, decode_error, patience());
    auto const now = around.time.wall();
    auto next = answer ? renewed(*token, answer->body, now) : std::nullopt;
    if (next) {
        (void)around.files.replace(path, to_json(*next)); // where that fails the next program renews it as well
        co_return std::move(*next);
    }
    if (token->expires_at > now) co_return *token;
    if (!answer && (answer.error().retryable || answer.error().code == errc::stopped)) co_return answer.error();
    co_return sign_in("the session has expired and could not be renewed");
}

} // namespace

sso_token::state sso_token::at(wall_time now) const
{
    if (now < expires_at - std::chrono::minutes(15)) return state::good;
    auto const registered_until = end_in(registration_expires_at);
    bool const can = !refresh_token.empty() && !client_id.empty() && !client_secret.empty() &&
        (registration_expires_at.empty() || (registered_until && *registered_until > now));
    if (can) return state::renewable;
    return now < expires_at ? state::good : state::expired;
}

std::string sso_cache_file(environment const& variable, sso_profile const& profile)
{
    auto const& key = profile.session.empty() ? profile.start_url : profile.session;
    return variable("HOME") + "/.aws/sso/cache/" + text::hex(text::sha1(key)) + ".json";
}

std::optional<sso_token> parse_sso_token(std::string_view json)
{
    auto const said = read_flat_json(json);
    if (!said) return {};
    auto const end = end_in(said->get("expiresat"));
    sso_token out;
    out.access_token = said->get("accesstoken");
    if (out.access_token.empty() || !end) return {};
    out.expires_at = *end;
    out.refresh_token = said->get("refreshtoken");
    out.client_id = said->get("clientid");
    out.client_secret = said->get("clientsecret");
    out.registration_expires_at = said->get("registrationexpiresat");
    out.start_url = said->get("starturl");
    out.region = said->get("region");
    return out;
}

std::string to_json(sso_token const& token)
{
    std::string text;
    text::json_writer out(text);
    out.begin_object();
    auto const put = [&](char const* name, std::string const& value) {
        if (!value.empty()) out.member(name, value);
    };
    put("startUrl", token.start_url);
    put("region", token.region);
    put("accessToken", token.access_token);
    put("expiresAt", text::rfc3339(token.expires_at));
    put("clientId", token.client_id);
    put("clientSecret", token.client_secret);
    put("registrationExpiresAt", token.registration_expires_at);
    put("refreshToken", token.refresh_token);
    out.end_object();
    return text;
}

awaitable<result<credentials>> sso_credentials(
    surroundings const& around, regional_endpoint portal, regional_endpoint oidc, sso_profile profile)
{
    if (profile.account_id.empty() || profile.role_name.empty()) {
        co_return failure(errc::no_credentials,
            "SSO: the profile has no sso_account_id and sso_role_name: it is for a token, not for credentials; add "
            "both");
    }
    auto const token = co_await usable_token(around, std::move(oidc), profile);
    if (!token) co_return token.error();
    auto url = portal.url;
    while (url.ends_with('/'))
        url.pop_back();
    url += "/federation/credentials?account_id=" + uri_encode(profile.account_id) +
        "&role_name=" + uri_encode(profile.role_name);
    std::function<result<web_request>()> const make = [&]() -> result<web_request> {
        web_request request(url);
        request.headers.emplace_back("x-amz-sso_bearer_token", token->access_token);
        return request;
    };
    auto const answer = co_await fetch(around.http, around.time, make, decode_error, patience());
    if (!answer && answer.error().http_status == 401) co_return sign_in("the session is no longer accepted");
    if (!answer) co_return answer.error();
    auto found = credentials_in_json(answer->body, "SSO", "roleCredentials");
    if (found) found->account_id = profile.account_id;
    co_return found;
}

} // namespace quern::aws
