#pragma once

#include <quern/aws/detail/signing/sigv4.hpp>
#include <quern/core/error.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace quern::aws::detail {

/// Signer of a request, and the place it was signed for.
struct caller {
    std::string access_key_id;
    std::string region;
    std::string service;
};

struct signature_claim;

/// Signer that a request names, unchecked; absent when it names none, or not in the form of a signature.
std::optional<caller> claimed_caller(request_view const&);

/// The other side of a signature: computes again what the caller claims to have computed.
///
/// Threads  one strand.
class verifier {
public:
    /// The credentials of an access key; nothing when there is no such key.
    using directory = std::function<std::optional<credentials>(std::string_view access_key_id)>;

    /// `window`: how far the signing time may be from now; the service allows 15 minutes.
    explicit verifier(directory known, std::chrono::seconds window = std::chrono::minutes(15))
        : known_(std::move(known)), window_(window)
    {}

    /// Checks an Authorization header or, without one, a presigned query. Every x-amz-* header that is there must be
    /// signed. Where x-amz-content-sha256 is present, the body must have that hash (UNSIGNED-PAYLOAD: any body).
    ///
    /// Fails with  errc::service_error, http_status and the service's own code (those of its query protocol):
    ///             MissingAuthenticationToken 403  no signature at all
    ///             IncompleteSignature        400  a part is missing or malformed
    ///             InvalidClientTokenId       403  unknown access key, or a session token that is not its own
    ///             SignatureDoesNotMatch      403  wrong secret, changed request, or a time outside the window
    [[nodiscard]] result<caller> check(request_view const&, wall_time now);

    /// Checks everything but the body, before the body has arrived. Returns the failure that check() would return.
    [[nodiscard]] std::optional<failure> refusal_without_body(request_view const&, wall_time now) const;

private:
    [[nodiscard]] result<signature_claim> examine(request_view const&, query_parameters&, wall_time now) const;

    directory known_;
    std::chrono::seconds window_;
    signing_keys keys_;
};

} // namespace quern::aws::detail
