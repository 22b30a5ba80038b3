#pragma once

#include "relay/relay_settings.hpp"

#include <quern/core/error.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace quern::app {

/// Where Elastic Beanstalk's daemon has its settings.
inline constexpr char const* usual_sqsd_file = "/etc/aws-sqsd.d/default.yaml";

/// Takes up the settings of Elastic Beanstalk's daemon: a key and a value each line, in the flat part of YAML.
///
///     queue_url: https://sqs.eu-west-1.amazonaws.com/123456789012/orders
///     http_path: /work
///     error_visibility_timeout: 2
///
/// An unknown key changes nothing, and is told in a warning. `file` is its name in complaints.
///
/// Fails with  errc::invalid_option  a sentence that names file, line and key
result<void> read_sqsd_file(
    std::string_view document, std::string_view file, relay_settings& into, std::vector<std::string>& warnings);

} // namespace quern::app
