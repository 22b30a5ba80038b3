#pragma once

#include <quern/core/error.hpp>
#include <quern/relay/detail/watched_file.hpp>
#include <quern/relay/relay.hpp>
#include <quern/relay/request.hpp>

#include <optional>
#include <vector>

namespace quern::relay::detail {

/// Keys and tokens of requests, read again when their files have changed.
class key_files {
public:
    explicit key_files(relay_options const&);

    /// Fails with  errc::invalid_option  as read_keys()
    result<request_keys> read();

private:
    std::vector<watched_file> secrets_, ed25519_;
    std::optional<watched_file> bearer_, basic_, client_secret_;
};

} // namespace quern::relay::detail
