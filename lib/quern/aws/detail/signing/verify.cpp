#include <quern/aws/detail/signing/verify.hpp>
#include <quern/core/detail/text/characters.hpp>
#include <quern/core/detail/text/reading.hpp>
#include <quern/core/detail/text/trimmed.hpp>

#include <openssl/crypto.h>

#include <algorithm>

namespace quern::aws::detail {

using namespace quern::detail;

/// A request's word about its own signature.
struct signature_claim {
    std::string access_key_id, day, region, service;
    std::string names; ///< of the signed headers
    std::string signature;
    std::string session_token;
    std::string date;
    wall_time signed_at;
    std::optional<std::chrono::seconds> lifetime; ///< presigned only
    credentials who;                              ///< whose it would be
};

namespace {

using claim = signature_claim;

failure refusal(std::string_view code, int status, std::string message)
{
    failure why(errc::service_error, std::move(message));
    why.service_code = code;
    why.http_status = status;
    why.sender_fault = true;
    return why;
}

failure incomplete(std::string message)
{
    return refusal("IncompleteSignature", 400, std::move(message));
}

failure mismatch(std::string message)
{
    return refusal("SignatureDoesNotMatch", 403, std::move(message));
}

/// Value of `name` in "name=value, name=value".
std::string_view field(std::string_view list, std::string_view name)
{
    while (!list.empty()) {
        auto const end = std::min(list.find(','), list.size());
        auto const item = text::trimmed(list.substr(0, end));
        list.remove_prefix(std::min(end + 1, list.size()));
        if (item.size() > name.size() && item.starts_with(name) && item[name.size()] == '=') {
            return item.substr(name.size() + 1);
        }
    }
    return {};
}

std::string take(query_parameters& parameters, std::string_view name)
{
    auto const found =
        std::find_if(parameters.begin(), parameters.end(), [&](auto const& p) { return p.first == name; });
    if (found == parameters.end()) return {};
    auto value = std::move(found->second);
    parameters.erase(found);
    return value;
}

/// "AKID/20150830/us-east-1/sqs/aws4_request"; the key itself may contain slashes.
std::optional<failure> read_credential(std::string_view text, claim& out)
{
    auto const last = [&]() -> std::string {
        auto const slash = text.rfind('/');
        if (slash == text.npos) return {};
        std::string part(text.substr(slash + 1));
        text = text.substr(0, slash);
        return part;
    };
    auto const terminator = last();
    out.service = last();
    out.region = last();
    out.day = last();
    out.access_key_id = text;
    if (terminator != "aws4_request" || out.service.empty() || out.region.empty() || out.day.empty() ||
        out.access_key_id.empty()) {
        return incomplete("Credential must be <access key>/<date>/<region>/<service>/aws4_request");
    }
    return {};
}

std::optional<failure> read_header_form(request_view const& request, claim& out)
{
    auto authorization = text::trimmed(request.header("authorization"));
    if (!authorization.starts_with(sigv4_algorithm)) {
        return incomplete("the Authorization header must begin with " + std::string(sigv4_algorithm));
    }
    authorization.remove_prefix(sigv4_algorithm.size());
    for (auto const* const name : {"Credential", "SignedHeaders", "Signature"}) {
        if (field(authorization, name).empty()) {
            return incomplete(std::string("Authorization header requires '") + name + "' parameter.");
        }
    }
    if (auto why = read_credential(field(authorization, "Credential"), out)) return why;
    out.names = field(authorization, "SignedHeaders");
    out.signature = field(authorization, "Signature");
    out.session_token = request.header("x-amz-security-token");
    out.date = request.header("x-amz-date");
    if (!out.date.empty()) return {};
    auto const date = text::parse_http_date(request.header("date"));
    if (!date)
        return incomplete("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.");
    out.date = text::timestamp(*date).text();
    return {};
}

std::optional<failure> read_query_form(query_parameters const& parameters, claim& out)
{
    for (auto const* const name :
        {"X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-SignedHeaders", "X-Amz-Expires"}) {
        if (value_of(parameters, name).empty()) {
            return incomplete(std::string("the query lacks the parameter '") + name + "'");
        }
    }
    if (value_of(parameters, "X-Amz-Algorithm") != sigv4_algorithm) {
        return incomplete("X-Amz-Algorithm must be " + std::string(sigv4_algorithm));
    }
    if (auto why = read_credential(value_of(parameters, "X-Amz-Credential"), out)) return why;
    out.names = value_of(parameters, "X-Amz-SignedHeaders");
    out.session_token = value_of(parameters, "X-Amz-Security-Token");
    out.date = value_of(parameters, "X-Amz-Date");
    auto const seconds = text::number_in<int>(value_of(parameters, "X-Amz-Expires")).value_or(0);
    constexpr int week = 7 * 24 * 60 * 60;
    if (seconds < 1 || seconds > week)
        return incomplete("X-Amz-Expires must be a number of seconds from 1 to 604800");
    out.lifetime = std::chrono::seconds(seconds);
    return {};
}

bool is_listed(std::string_view names, std::string_view name)
{
    while (!names.empty()) {
        auto const end = std::min(names.find(';'), names.size());
        if (names.substr(0, end) == name) return true;
        names.remove_prefix(std::min(end + 1, names.size()));
    }
    return false;
}

bool equal_in_constant_time(std::string_view a, std::string_view b)
{
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::optional<failure> outside(std::chrono::seconds window, claim const& told, wall_time now)
{
    auto const text = [](wall_time at) { return std::string(text::timestamp(at).text()); };
    auto const width = std::to_string(std::chrono::duration_cast<std::chrono::minutes>(window).count()) + " min.)";
    if (told.lifetime && told.signed_at + *told.lifetime < now) {
        return mismatch(
            "Signature expired: " + text(told.signed_at + *told.lifetime) + " is now earlier than " + text(now));
    }
    if (!told.lifetime && told.signed_at + window < now) {
        return mismatch("Signature expired: " + told.date + " is now earlier than " + text(now - window) + " (" +
            text(now) + " - " + width);
    }
    if (told.signed_at > now + window) {
        return mismatch("Signature not yet current: " + told.date + " is still later than " + text(now + window) +
            " (" + text(now) + " + " + width);
    }
    return {};
}

constexpr auto no_match = "The request signature we calculated does not match the signature you provided. "
                          "Check your AWS Secret Access Key and signing method.";

} // namespace

std::optional<caller> claimed_caller(request_view const& request)
{
    auto const authorization = text::trimmed(request.header("authorization"));
    std::string credential;
    if (authorization.starts_with(sigv4_algorithm))
        credential = field(authorization.substr(sigv4_algorithm.size()), "Credential");
    else if (authorization.empty())
        credential = value_of(parse_query(request.query()), "X-Amz-Credential");
    claim told;
    if (read_credential(credential, told)) return {};
    return caller{told.access_key_id, told.region, told.service};
}

result<signature_claim> verifier::examine(
    request_view const& request, query_parameters& parameters, wall_time now) const
{
    claim told;
    if (!request.header("authorization").empty()) {
        if (auto why = read_header_form(request, told)) return *why;
    } else if (told.signature = take(parameters, "X-Amz-Signature"); !told.signature.empty()) {
        if (auto why = read_query_form(parameters, told)) return *why;
    } else {
        return refusal("MissingAuthenticationToken", 403, "Request is missing Authentication Token");
    }

    auto const date = text::parse_timestamp(told.date);
    if (!date) return incomplete("the date must be in the form 20150830T123600Z, got '" + told.date + "'");
    told.signed_at = *date;
    if (!is_listed(told.names, "host"))
        return incomplete("'Host' must be a 'SignedHeader' in the AWS Authorization.");
    if (text::timestamp(*date).day() != told.day) {
        return mismatch("Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP");
    }
    for (auto const& h : request.headers) {
        auto const name = text::lower_case(h.name);
        if (name.starts_with("x-amz-") && !is_listed(told.names, name))
            return mismatch("There were headers present in the request which were not signed: " + name);
    }
    auto who = known_(told.access_key_id);
    if (!who || !equal_in_constant_time(who->session_token, told.session_token)) {
        return refusal("InvalidClientTokenId", 403, "The security token included in the request is invalid.");
    }
    if (auto why = outside(window_, told, now)) return *why;
    told.who = std::move(*who);
    return told;
}

std::optional<failure> verifier::refusal_without_body(request_view const& request, wall_time now) const
{
    auto parameters = parse_query(request.query());
    auto const told = examine(request, parameters, now);
    if (told) return {};
    return told.error();
}

result<caller> verifier::check(request_view const& request, wall_time now)
{
    auto parameters = parse_query(request.query());
    auto const examined = examine(request, parameters, now);
    if (!examined) return examined.error();
    auto const& told = *examined;

    std::string payload(request.header("x-amz-content-sha256"));
    if (payload != "UNSIGNED-PAYLOAD") {
        auto const actual = text::hex(text::sha256(request.body));
        if (!payload.empty() && payload != actual) {
            return mismatch("x-amz-content-sha256 is not the SHA-256 of the body");
        }
        payload = actual;
    }
    std::vector<header_view> headers;
    for (auto const& h : request.headers) {
        if (is_listed(told.names, text::lower_case(h.name))) headers.push_back(h);
    }
    auto const canonical = canonicalize(headers);
    auto const path = canonical_path(request.path(), true);
    auto const steps = seal(canonical_request(request.method, path, canonical_query(parameters), canonical, payload),
        told.who.secret_access_key, {text::timestamp(told.signed_at), told.region, told.service}, keys_);
    if (!equal_in_constant_time(steps.signature, told.signature)) return mismatch(no_match);
    return caller{told.access_key_id, told.region, told.service};
}

} // namespace quern::aws::detail
