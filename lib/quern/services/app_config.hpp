#pragma once

#include <quern/aws/client_options.hpp>
#include <quern/core/clock.hpp>
#include <quern/services/service_client.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace quern::services {

/// A configuration, by the names or the ids of its parts.
struct configuration_name {
    std::string application;
    std::string environment;
    std::string profile;

    configuration_name(std::string a, std::string e, std::string p)
        : application(std::move(a)), environment(std::move(e)), profile(std::move(p))
    {}
};

// Not aggregates: g++ 12.2 destroys those twice in a `co_await` expression (GCC PR107288).

struct start_configuration_session_request {
    struct response {
        std::string token{}; ///< for the first reading
    };
    configuration_name what;
    std::optional<std::chrono::seconds> least_interval; ///< between two readings, 15 s to 24 h; absent: 60 s

    explicit start_configuration_session_request(
        configuration_name w, std::optional<std::chrono::seconds> least = std::nullopt)
        : what(std::move(w)), least_interval(least)
    {}
};

struct get_latest_configuration_request {
    struct response {
        std::string token{};                  ///< for the next reading
        std::chrono::seconds next{};          ///< no reading sooner than that
        std::optional<std::string> content{}; ///< absent: the same as at the last reading of the session
        std::string content_type{};
        std::string version_label{};
    };
    std::string token; ///< good for one reading, and for a day

    explicit get_latest_configuration_request(std::string t) : token(std::move(t)) {}
};

/// AppConfig's data plane: what is deployed, read in sessions.
///
/// Fails with  as service_client says.
/// Cancellation  terminal, of each call.
/// Source      AWS AppConfig Data API reference, "StartConfigurationSession" and "GetLatestConfiguration".
class app_config final : public service_client {
public:
    /// Throws boost::system::system_error when an option is invalid, no region is found, or the CA bundle or the
    /// config file cannot be read. `time` outlives the client and its operations.
    explicit app_config(
        boost::asio::any_io_executor, aws::client_options = aws::client_options(), clock& time = real_clock());

    template <class Request>
    using answer = boost::asio::awaitable<result<typename Request::response>>;

    /// Fails with  ResourceNotFoundException, BadRequestException
    answer<start_configuration_session_request> start_configuration_session(start_configuration_session_request);

    /// Fails with  BadRequestException  a token that was used, or is damaged or a day old, or a reading too soon
    ///
    /// An answer that was lost on the way has used the token up: a session begins anew.
    answer<get_latest_configuration_request> get_latest_configuration(get_latest_configuration_request);
};

} // namespace quern::services
