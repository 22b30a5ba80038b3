#include <quern/aws/credentials/detail/credential_json.hpp>
#include <quern/aws/credentials/sts.hpp>
#include <quern/aws/detail/error_reply.hpp>
#include <quern/aws/detail/signing/canonical.hpp>
#include <quern/aws/detail/signing/sigv4.hpp>
#include <quern/core/detail/printable.hpp>
#include <quern/core/detail/text/xml.hpp>

namespace quern::aws {

using namespace detail;
using namespace quern::detail;

using boost::asio::awaitable;

namespace {

std::string form(char const* action, role const& what, wall_time now)
{
    auto const seconds = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
    auto const session = what.session_name.empty() ? "quern-" + std::to_string(seconds) : what.session_name;
    auto text = std::string("Action=") + action + "&Version=2011-06-15&RoleArn=" + uri_encode(what.arn) +
        "&RoleSessionName=" + uri_encode(session);
    if (!what.duration_seconds.empty()) text += "&DurationSeconds=" + uri_encode(what.duration_seconds);
    return text;
}

web_request post(regional_endpoint const& sts, std::string body)
{
    web_request request(sts.url);
    request.method = "POST";
    request.headers.emplace_back("content-type", "application/x-www-form-urlencoded");
    request.body = std::move(body);
    return request;
}

/// The request with what its signature adds.
result<web_request> signed_by(web_request request, regional_endpoint const& sts, credentials const& by, wall_time now)
{
    auto const to = net::parse_url(request.url);
    if (!to) return failure(errc::invalid_request, to.error().message);
    auto const host = to->authority();
    request_view view{request.method, to->path, {{"host", host}}, request.body};
    for (auto const& [name, value] : request.headers)
        view.headers.push_back({name, value});
    signing_keys keys;
    auto seal = sign(view, by, {text::timestamp(now), sts.signing_region, sts.signing_name}, signing_options(), keys);
    for (auto& added : seal.added)
        request.headers.push_back(std::move(added));
    return request;
}

awaitable<result<credentials>> credentials_for(
    surroundings const& around, std::function<result<web_request>()> make, clock_skew* skew = nullptr)
{
    patience how;
    how.skew = skew;
    auto const answer = co_await fetch(around.http, around.time, std::move(make), decode_sts_error, how);
    if (!answer) co_return answer.error();
    co_return credentials_in_sts_answer(answer->body);
}

/// The account in "arn:aws:sts::123456789012:assumed-role/name/session".
std::string account_in(std::string_view arn)
{
    for (int i = 0; i < 4; ++i) {
        auto const colon = arn.find(':');
        if (colon == arn.npos) return {};
        arn.remove_prefix(colon + 1);
    }
    return std::string(arn.substr(0, arn.find(':')));
}

} // namespace

failure decode_sts_error(net::response const& answer)
{
    auto const said = text::read_xml(answer.body);
    if (!said || said->get("Error/Code").empty()) return decode_error(answer);
    auto const message = said->get("Error/Message");
    failure why(errc::service_error, printable(message.substr(0, message.find('\n'))));
    why.service_code = printable(said->get("Error/Code"));
    why.request_id = printable(said->get("RequestId"));
    why.http_status = answer.status;
    why.sender_fault = said->get("Error/Type") == "Sender";
    auto const kind = classify(answer.status, why.service_code);
    why.retryable = kind != error_kind::final || why.service_code == "IDPCommunicationError";
    if (kind == error_kind::throttling) why.code = errc::throttled;
    return why;
}

result<credentials> credentials_in_sts_answer(std::string_view body)
{
    auto const unreadable = [](std::string const& why) { return failure(errc::no_credentials, "STS: " + why); };
    auto const said = text::read_xml(body);
    constexpr std::string_view tail = "Response";
    if (!said || !said->root.ends_with(tail)) return unreadable("the answer is not the XML that was expected");
    auto const part = [&, result = said->root.substr(0, said->root.size() - tail.size()) + "Result/"](
                          char const* path) { return said->get(result + path); };
    credentials out{
        part("Credentials/AccessKeyId"), part("Credentials/SecretAccessKey"), part("Credentials/SessionToken")};
    if (auto const flaw = flaw_of(out)) return unreadable("in the answer " + *flaw);
    out.expires_at = end_in(part("Credentials/Expiration"));
    if (!out.expires_at) return unreadable("the answer does not say when the credentials expire");
    out.account_id = account_in(part("AssumedRoleUser/Arn"));
    return out;
}

awaitable<result<credentials>> assume_role(
    surroundings const& around, regional_endpoint sts, role what, credentials by)
{
    clock_skew skew;
    std::function<result<web_request>()> const make = [&] {
        auto const now = skew.corrected(around.time.wall());
        auto body = form("AssumeRole", what, now);
        if (!what.external_id.empty()) body += "&ExternalId=" + uri_encode(what.external_id);
        return signed_by(post(sts, std::move(body)), sts, by, now);
    };
    auto found = co_await credentials_for(around, make, &skew);
    if (found) found->expires_at = skew.ours(*found->expires_at);
    co_return found;
}

awaitable<result<credentials>> assume_role_with_web_identity(
    surroundings const& around, regional_endpoint sts, role what, std::string token_file)
{
    auto const token = around.files.read(token_file);
    if (!token) {
        co_return failure(errc::no_credentials,
            "the web identity token " + token_file + " cannot be read: " + token.error().code.message());
    }
    std::function<result<web_request>()> const make = [&]() -> result<web_request> {
        auto body = form("AssumeRoleWithWebIdentity", what, around.time.wall());
        body += "&WebIdentityToken=" + uri_encode(token->substr(0, token->find_last_not_of(" \t\r\n") + 1));
        return post(sts, std::move(body));
    };
    co_return co_await credentials_for(around, make);
}

} // namespace quern::aws
