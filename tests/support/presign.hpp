#pragma once

#include <quern/aws/detail/signing/sigv4.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace quern::test {

using namespace quern::aws::detail;
using namespace quern::detail;

/// A request with its signature in the query, and how that came about.
struct presigned_target : signature_steps {
    std::string target; ///< to be requested instead
};

/// Signs any request in its query. The URL works for `lifetime`, as long as the credentials live.
inline presigned_target presign(request_view const& request, aws::credentials const& who, signing_scope const& scope,
    signing_options const& options, std::chrono::seconds lifetime, signing_keys& keys)
{
    auto const canonical = canonicalize(signed_part(request.headers));
    auto parameters = parse_query(request.query());
    std::string target(request.target);
    auto const append = [&](std::string name, std::string value, bool is_signed_too = true) {
        if (target.find('?') == target.npos)
            target.push_back('?');
        else if (target.back() != '?' && target.back() != '&')
            target.push_back('&');
        target.append(name).append("=").append(uri_encode(value));
        if (is_signed_too) parameters.emplace_back(std::move(name), std::move(value));
    };
    append("X-Amz-Algorithm", std::string(sigv4_algorithm));
    append("X-Amz-Credential", who.access_key_id + '/' + scope.text());
    append("X-Amz-Date", std::string(scope.at.text()));
    append("X-Amz-SignedHeaders", canonical.names);
    append("X-Amz-Expires", std::to_string(lifetime.count()));
    if (!who.session_token.empty()) append("X-Amz-Security-Token", who.session_token, !options.omit_session_token);

    auto const hash = options.payload_hash.empty() ? text::hex(text::sha256(request.body)) : options.payload_hash;
    presigned_target out;
    auto const path = canonical_path(request.path(), options.normalize_path);
    auto const canonical_text = canonical_request(request.method, path, canonical_query(parameters), canonical, hash);
    static_cast<signature_steps&>(out) = seal(canonical_text, who.secret_access_key, scope, keys);
    append("X-Amz-Signature", out.signature, false);
    out.target = std::move(target);
    return out;
}

} // namespace quern::test
