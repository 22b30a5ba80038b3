#pragma once

#include "relay/periodic_tasks.hpp"
#include "relay/relay_changes.hpp"

#include <quern/net/web_hook_client.hpp>
#include <quern/policy/breaker.hpp>
#include <quern/relay/health.hpp>
#include <quern/relay/relay.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quern::app {

/// Another queue, and the web service that its messages go to.
struct relay_route {
    std::string queue; ///< URL, name or ARN
    relay::url_template url;
};

/// Settings of `quern relay`: from a file, from the variables of the program that it takes the place of, and from its
/// command line, which has the last word.
struct relay_settings {
    std::string queue;               ///< URL, name or ARN
    std::string url;                 ///< as it was given; shown, never sent
    std::vector<relay_route> routes; ///< beside these two
    std::vector<periodic_task> periodic;
    relay::relay_options relay;
    net::web_hook_options web;
    policy::breaker_options breaker;
    relay::health_options health;
    bool checks_health = false;
    std::optional<std::chrono::milliseconds> wait_healthy; ///< before the first receive
    relay::text_template dependency;                       ///< see relay::dependency_by()
    std::string reply_queue;                               ///< URL, name or ARN; empty: none
    std::size_t concurrency = 50;                          ///< requests at once
    bool finds_concurrency = false;                        ///< as many of these as bring more
    bool heeds_refusals = true; ///< answers of 429 may limit the rate, see relay::on_rate()
    std::size_t batch = 1;      ///< messages in a request, at most
    std::optional<std::chrono::milliseconds> batch_window; ///< the first of them waits so long for others
    std::size_t batch_bytes = 4 << 20;                     ///< of bodies: an event of 6 MB is the most for Lambda
    std::optional<std::chrono::milliseconds> statistics_every{120'000};

    // Only variables say these; on the command line they are options of every consumer, or of the program.
    std::optional<int> wait_time;
    std::optional<std::chrono::milliseconds> visibility_timeout, max_age;
    std::string endpoint, region;

    relay_texts said;                     ///< what was said, of settings of the file
    std::vector<std::string> option_keys; ///< in the file, of options that others read

    /// The first two that do not fit together, in a sentence; empty when all do.
    std::string conflict() const;
};

/// One setting, as a file and the command line know it.
struct relay_setting {
    std::string_view key;    ///< in the file, within [relay]: "timeout", "tls.ca"
    std::string_view option; ///< "--timeout"; empty: the file alone has it
    std::string_view type;   ///< of the value, for the help; empty: a flag
    std::string_view help;

    /// Sets it; a setting that is a list grows. Returns what is wrong, as the end of a sentence that the setting's
    /// name begins: "must be a duration, 30s for one"; empty when all is well.
    std::string (*set)(relay_settings&, std::string const& value);
};

std::span<relay_setting const> all_relay_settings();

/// Sets that one of them, as a file would.
std::string set_setting(relay_settings&, std::string_view key, std::string const& value);

/// Puts a header in place of one of the same name; returns what is wrong, as above.
std::string set_header(relay_settings&, std::string_view name, std::string_view value);

} // namespace quern::app
