#pragma once

#include <quern/aws/detail/signing/sigv4.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace quern::aws::detail {

/// Versions of the awsJson protocol: for a caller they differ in the content type alone.
enum class json_version { v1_0, v1_1 };

constexpr std::string_view content_type(json_version v)
{
    return v == json_version::v1_0 ? "application/x-amz-json-1.0" : "application/x-amz-json-1.1";
}

/// Where awsJson calls go, and how the service wants them.
struct json_target {
    std::string host;       ///< value of the Host header, with a port that is not the scheme's own
    std::string path = "/"; ///< of the endpoint; calls go to it with a slash at its end
    std::string region;
    std::string service = "sqs";             ///< the signing name
    std::string target_prefix = "AmazonSQS"; ///< of X-Amz-Target
    json_version version = json_version::v1_0;
    std::string user_agent = "quern";
    bool query_compatible = true; ///< x-amzn-query-mode: only for services with that trait, and there required
};

/// Writes signed awsJson requests, complete as they go over the wire. What does not change between two calls of one
/// operation is prepared once; a call costs the body's hash, one short hash and one HMAC.
///
/// Threads  one strand.
class json_signer {
public:
    explicit json_signer(json_target);

    std::string request(std::string_view operation, std::string_view body, credentials const&, wall_time now);

    /// The same, kept until its second is over: polls are alike, and the next one costs a copy.
    std::string poll(std::string_view operation, std::string_view body, credentials const&, wall_time now);

    json_target const& target() const { return target_; }

private:
    struct moment {
        std::chrono::sys_seconds second;
        quern::detail::text::timestamp at;
        std::string scope;
    };
    struct written {
        std::string operation;
        credentials who;
        std::string text;
    };
    struct prepared {
        std::string session_token; ///< that the rest was prepared for
        std::string head;          ///< HTTP, up to the value of content-length
        std::string before_date;   ///< canonical request, up to the value of x-amz-date
        std::string after_date;    ///< from there up to the payload's hash
        std::string signed_names;
    };
    prepared const& prepare(std::string_view operation, std::string_view session_token);
    moment const& turn_to(wall_time);

    json_target target_;
    std::map<std::string, prepared, std::less<>> operations_;
    signing_keys keys_;
    std::optional<moment> now_;
    std::map<std::string, written, std::less<>> polls_; ///< of this second, by their body
};

} // namespace quern::aws::detail
