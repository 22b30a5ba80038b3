#pragma once

#include <quern/core/clock.hpp>
#include <quern/policy/flag.hpp>
#include <quern/services/app_config.hpp>
#include <quern/services/app_config_agent.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace quern::flags {

/// A flag in a configuration of AppConfig: a word or JSON, see policy::read_flag(); or what a JSON pointer leads to
/// in it, "/orders" for one of a profile of feature flags.
///
/// It is read in one session, with tokens that are good once; where one is refused, or an answer was lost, a session
/// begins anew. Between two readings the service wants a pause, which whoever reads sooner spends with the last text.
///
/// `least_interval`: that pause, 15 s to 24 h; the service may want a longer one.
///
/// Threads  any: consumers may share it. `time`: outlives it.
std::shared_ptr<policy::flag_source> in_app_config(std::shared_ptr<services::app_config>,
    services::configuration_name, std::string pointer = {},
    std::chrono::seconds least_interval = std::chrono::seconds(15), clock& time = real_clock());

/// The same, from the agent beside this process: nothing is signed, and AppConfig is asked by the agent alone.
std::shared_ptr<policy::flag_source> in_app_config_agent(services::configuration_name, std::string pointer = {},
    services::agent_options = services::agent_options::from());

} // namespace quern::flags
