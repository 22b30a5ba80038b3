#pragma once

#include "consume/consume_work.hpp"
#include "consume/consuming.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>

namespace quern::app {

/// Settings as files have them now. `read_again`: those of --config; null: as `base`. A file of --settings says the
/// last word about limits.
result<settings_again> settings_now(
    consume_options const&, consumer_limits base, std::function<result<settings_again>()> const& read_again);

/// Puts them in force, and says of the others that they need a restart.
boost::asio::awaitable<void> turn(consume_work&, settings_again now);

/// Tells of the end what there is to tell, and the exit code that it means.
int judged(consume_work const&, drain_report const&);

} // namespace quern::app
