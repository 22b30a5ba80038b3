#pragma once

#include <quern/aws/credentials/credentials.hpp>
#include <quern/aws/detail/signing/canonical.hpp>
#include <quern/core/detail/text/date.hpp>
#include <quern/core/detail/text/digest.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace quern::aws::detail {

inline constexpr std::string_view sigv4_algorithm = "AWS4-HMAC-SHA256";

/// Keys derived from (secret, day, region, service): four HMACs that need not be repeated for every request.
///
/// Threads  one strand.
class signing_keys {
public:
    /// Valid until the next call.
    quern::detail::text::sha256_digest const& get(
        std::string_view secret, std::string_view day, std::string_view region, std::string_view service);

private:
    struct entry {
        std::string secret, day, region, service;
        quern::detail::text::sha256_digest key;
    };
    std::vector<entry> entries_;
};

/// Service, region and time of a signature.
struct signing_scope {
    quern::detail::text::timestamp at;
    std::string_view region;
    std::string_view service; ///< the signing name: "sqs"

    /// "20150830/us-east-1/sqs/aws4_request"
    std::string text() const;
};

struct signing_options {
    bool normalize_path = true;      ///< S3 wants false
    bool sign_body = false;          ///< the header form also carries the payload's hash, in x-amz-content-sha256
    bool omit_session_token = false; ///< the token is added, but not signed
    std::string payload_hash;        ///< stands in the place of the body's SHA-256 ("UNSIGNED-PAYLOAD") unless empty
};

/// A signature and how it came about.
struct signature_steps {
    std::string canonical_request;
    std::string string_to_sign;
    std::string signature; ///< 64 hexadecimal digits
};

struct signed_headers : signature_steps {
    std::vector<std::pair<std::string, std::string>> added; ///< to the request, in this order; Authorization is last
};

/// Signs any request in its headers. All of them are signed but those that intermediaries change (hop-by-hop headers,
/// user-agent, x-amzn-trace-id); `host` must be among them, x-amz-date and authorization must not.
signed_headers sign(
    request_view const&, credentials const&, signing_scope const&, signing_options const&, signing_keys&);

// Steps that signing and checking share.

/// Headers without those that change or vanish on the way.
std::vector<header_view> signed_part(std::vector<header_view> const&);

std::string canonical_request(std::string_view method, std::string_view path, std::string_view query,
    canonical_headers const&, std::string_view payload_hash);

/// `scope`: its text. `canonical`: the canonical request's SHA-256 in hexadecimal.
quern::detail::text::sha256_digest signature_of(quern::detail::text::sha256_digest const& key,
    quern::detail::text::timestamp const& at, std::string_view scope, std::string_view canonical);

signature_steps seal(std::string canonical, std::string_view secret, signing_scope const&, signing_keys&);

} // namespace quern::aws::detail
