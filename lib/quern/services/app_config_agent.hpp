#pragma once

#include <quern/aws/config/environment.hpp>
#include <quern/core/error.hpp>
#include <quern/services/app_config.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <string>

namespace quern::services {

/// Where the agent listens.
///
/// Source  AWS AppConfig user guide, "AWS AppConfig Agent" for containers, for machines, and as a Lambda extension.
struct agent_options {
    std::string url = "http://localhost:2772";
    std::string token{};                      ///< the agent's ACCESS_TOKEN, sent as a bearer; empty: none
    std::chrono::milliseconds timeout{5'000}; ///< the agent has what it is asked for, but for the first time

    /// The port that AWS_APPCONFIG_EXTENSION_HTTP_PORT names, and the token in ACCESS_TOKEN.
    static agent_options from(aws::environment const& = aws::process_environment);
};

/// Reads a configuration as the agent beside this process has it, which asks AppConfig itself. Without a signature.
///
/// Fails with    errc::service_error   an answer other than 2xx
///               and as aws::web::send
/// Cancellation  terminal.
boost::asio::awaitable<result<std::string>> read_from_agent(agent_options, configuration_name);

} // namespace quern::services
