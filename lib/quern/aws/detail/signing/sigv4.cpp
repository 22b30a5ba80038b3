#include <quern/aws/detail/signing/sigv4.hpp>
#include <quern/core/detail/text/characters.hpp>

#include <algorithm>
#include <array>

namespace quern::aws::detail {

using namespace quern::detail;

namespace {

/// Headers that change or vanish between the signer and the service (botocore, auth.py; the Rust SDK's list is a
/// part).
bool is_signed(std::string_view name)
{
    static constexpr std::array<std::string_view, 12> left_out{"authorization", "connection", "expect", "keep-alive",
        "proxy-authenticate", "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade", "user-agent",
        "x-amzn-trace-id"};
    return !std::binary_search(left_out.begin(), left_out.end(), text::lower_case(name));
}

std::string payload_hash(request_view const& request, signing_options const& options)
{
    return options.payload_hash.empty() ? text::hex(text::sha256(request.body)) : options.payload_hash;
}

} // namespace

std::vector<header_view> signed_part(std::vector<header_view> const& headers)
{
    std::vector<header_view> kept;
    std::copy_if(headers.begin(), headers.end(), std::back_inserter(kept),
        [](header_view const& h) { return is_signed(h.name); });
    return kept;
}

text::sha256_digest const& signing_keys::get(
    std::string_view secret, std::string_view day, std::string_view region, std::string_view service)
{
    for (auto const& e : entries_) {
        if (e.day == day && e.secret == secret && e.region == region && e.service == service) return e.key;
    }
    constexpr std::size_t limit = 64; // far more than one process signs with in a day
    if (entries_.size() == limit) entries_.clear();
    auto key = text::hmac_sha256("AWS4" + std::string(secret), day);
    for (auto const step : {region, service, std::string_view("aws4_request")}) {
        key = text::hmac_sha256(text::bytes_of(key), step);
    }
    entries_.push_back({std::string(secret), std::string(day), std::string(region), std::string(service), key});
    return entries_.back().key;
}

std::string signing_scope::text() const
{
    std::string out;
    out.reserve(48);
    return out.append(at.day()).append("/").append(region).append("/").append(service).append("/aws4_request");
}

std::string canonical_request(std::string_view method, std::string_view path, std::string_view query,
    canonical_headers const& headers, std::string_view payload_hash)
{
    std::string out(method);
    out.append("\n").append(path).append("\n").append(query).append("\n");
    out.append(headers.lines).append("\n").append(headers.names).append("\n");
    return out.append(payload_hash);
}

namespace {

/// The string to sign.
std::array<std::string_view, 7> to_sign(text::timestamp const& at, std::string_view scope, std::string_view canonical)
{
    return {sigv4_algorithm, "\n", at.text(), "\n", scope, "\n", canonical};
}

} // namespace

signature_steps seal(std::string canonical, std::string_view secret, signing_scope const& scope, signing_keys& keys)
{
    signature_steps out;
    out.canonical_request = std::move(canonical);
    auto const in = scope.text();
    text::hex_text const hash(text::sha256(out.canonical_request));
    for (auto const part : to_sign(scope.at, in, hash))
        out.string_to_sign.append(part);
    auto const& key = keys.get(secret, scope.at.day(), scope.region, scope.service);
    out.signature = text::hex(signature_of(key, scope.at, in, hash));
    return out;
}

text::sha256_digest signature_of(
    text::sha256_digest const& key, text::timestamp const& at, std::string_view scope, std::string_view canonical)
{
    return text::hmac_sha256(text::bytes_of(key), text::text_parts(to_sign(at, scope, canonical)));
}

signed_headers sign(request_view const& request, credentials const& who, signing_scope const& scope,
    signing_options const& options, signing_keys& keys)
{
    auto const hash = payload_hash(request, options);
    auto headers = signed_part(request.headers);
    signed_headers out;
    if (!who.session_token.empty()) {
        out.added.emplace_back("X-Amz-Security-Token", who.session_token);
        if (!options.omit_session_token) headers.push_back({"x-amz-security-token", who.session_token});
    }
    out.added.emplace_back("X-Amz-Date", scope.at.text());
    headers.push_back({"x-amz-date", scope.at.text()});
    if (options.sign_body) {
        out.added.emplace_back("x-amz-content-sha256", hash);
        headers.push_back({"x-amz-content-sha256", hash});
    }

    auto const canonical = canonicalize(headers);
    auto const path = canonical_path(request.path(), options.normalize_path);
    auto const query = canonical_query(parse_query(request.query()));
    static_cast<signature_steps&>(out) =
        seal(canonical_request(request.method, path, query, canonical, hash), who.secret_access_key, scope, keys);

    std::string authorization(sigv4_algorithm);
    authorization.append(" Credential=").append(who.access_key_id).append("/").append(scope.text());
    authorization.append(", SignedHeaders=").append(canonical.names).append(", Signature=").append(out.signature);
    out.added.emplace_back("Authorization", std::move(authorization));
    return out;
}

} // namespace quern::aws::detail
