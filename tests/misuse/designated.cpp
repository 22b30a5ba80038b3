// Options named one by one: not a word from the compiler about those that are left at their defaults.

#include <quern/admin/host.hpp>
#include <quern/broker/server.hpp>
#include <quern/fleet/fleet_limit.hpp>
#include <quern/idempotency/once.hpp>
#include <quern/metrics/sampler.hpp>
#include <quern/quern.hpp>
#include <quern/redrive/redriver.hpp>
#include <quern/relay/relay.hpp>

using namespace std::chrono_literals;

int main()
{
    [[maybe_unused]] quern::consumer_options const consumer{
        .visibility_timeout = 60s, .outage = {.max_dependencies = 3}};
    [[maybe_unused]] quern::consumer_limits const limits{.max_in_flight = 3};
    [[maybe_unused]] quern::batch_options const batch{.size = 3};
    [[maybe_unused]] quern::fifo_options const fifo{.park_for = 3s};
    [[maybe_unused]] quern::give_up_options const give_up{.after = 3s};
    [[maybe_unused]] quern::settle_options const settle{.max_calls = 3};
    [[maybe_unused]] quern::fairness_options const fairness{.look_ahead = 3};
    [[maybe_unused]] quern::producer_options const producer{.max_calls = 1};
    [[maybe_unused]] quern::policy::flag_options const flag{.name = "halted"};
    [[maybe_unused]] quern::policy::rate const rate{.count = 3};
    [[maybe_unused]] quern::admin::host_options const host{.web = {.port = 9090}, .program = "shop"};
    [[maybe_unused]] quern::admin::door_options const door{.program = "shop"};
    [[maybe_unused]] quern::broker::server_options const broker{.port = 1};
    [[maybe_unused]] quern::relay::relay_options const relay{.unix_socket = "socket"};
    [[maybe_unused]] quern::metrics::sampler_options const sampler{.look_every = 1s};
    [[maybe_unused]] quern::idempotency::once_options const once{.prefix = "shop"};
    [[maybe_unused]] quern::fleet::fleet_limit_options const fleet{.member = "one"};
    [[maybe_unused]] quern::redrive::options const redrive{.dry_run = true};
}
