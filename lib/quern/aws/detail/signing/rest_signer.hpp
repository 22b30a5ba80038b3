#pragma once

#include <quern/aws/detail/signing/sigv4.hpp>

#include <string>
#include <string_view>

namespace quern::aws::detail {

/// Where the calls of a REST service go.
struct rest_target {
    std::string host;       ///< value of the Host header, with a port that is not the scheme's own
    std::string path = "/"; ///< of the endpoint; an operation's own follows it
    std::string region;
    std::string service; ///< the signing name
    std::string user_agent = "quern";
};

/// Writes signed requests of the restJson1 protocol, complete as they go over the wire. Each is written and signed
/// anew: for services that are asked now and then.
///
/// Threads  one strand.
class rest_signer {
public:
    explicit rest_signer(rest_target);

    /// `operation`: the method and the target, "GET /configuration?configuration_token=…".
    std::string request(std::string_view operation, std::string_view body, credentials const&, wall_time now);

    /// The same: no two requests are alike.
    std::string poll(std::string_view operation, std::string_view body, credentials const& who, wall_time now)
    {
        return request(operation, body, who, now);
    }

    rest_target const& target() const { return target_; }

private:
    rest_target const target_;
    signing_keys keys_;
};

} // namespace quern::aws::detail
