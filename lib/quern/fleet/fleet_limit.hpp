#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>
#include <quern/fleet/budget.hpp>
#include <quern/services/dynamodb.hpp>
#include <quern/telemetry/log.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace quern::fleet {

/// Item in which a fleet divides its budget: its key is "quern#fleet#" and the name, so that it can live in a table
/// that remembers keys of idempotent handlers. It has no time to live, and one attribute for each process.
struct fleet_item {
    std::string table;
    std::string name;
    std::string key_name = "id"; ///< of the table's hash key, a string; it has no sort key
    std::string prefix = "quern#fleet#";
};

struct fleet_limit_options {
    fleet_item item{};
    budget all{};

    /// Name that people know this process by, as a host and a number; something at random is added. Letters, digits
    /// and "-._/" alone.
    std::string member = "process";

    log_sink log = to_standard_error();
    clock* time = nullptr;  ///< the real one when null
    std::uint64_t seed = 0; ///< of the process's name and of its pauses; 0 takes it from the system

    /// The first setting that cannot work, by name.
    [[nodiscard]] std::optional<failure> validate() const;
};

/// One budget for all processes of a fleet: each leases a slice of it, in an item of a table, and uses no more. What
/// one does not use is lent to the others.
///
///     fleet::fleet_limit share(io.get_executor(), table, {.item = {"quern", "orders"}, .all = {.rate = {{100}}}});
///     auto changed = [&](fleet::amounts const& slice) { /* c.set_limits(fleet::limits_of(slice, all), …) */ };
///     co_spawn(io, share.run(changed), …);
///
/// A process reads the item once a second, and writes it once in two seconds, or once a second while slices change.
/// The slice of one that died is free within ten seconds; those of processes that end() are at once. No clock has to
/// be right. While the table does not answer, each process keeps its last slice; one that alone cannot reach it keeps
/// it too, and is taken for dead by the others.
///
/// Threads  one strand: the executor given.
class fleet_limit {
public:
    /// Throws boost::system::system_error that names the option when one cannot work.
    fleet_limit(boost::asio::any_io_executor, std::shared_ptr<services::dynamodb>, fleet_limit_options);
    ~fleet_limit();

    /// Leases and renews until end(). `changed` is told each slice, an empty one at the beginning: nothing may begin
    /// before the first is leased. `look` is asked once a second; null: this process wants as much as it can get.
    ///
    /// Cancellation  terminal: the slice is not given back, and free after ten seconds.
    boost::asio::awaitable<void> run(
        std::function<void(amounts const&)> changed, std::function<boost::asio::awaitable<usage>()> look = nullptr);

    /// Gives the slice back, and ends run().
    void end();

    /// Slice that may be used now.
    amounts slice() const;

private:
    struct state;
    std::unique_ptr<state> state_;
};

/// Processes in the item, by name; none where there is no item.
///
/// Fails with  as services::dynamodb::get_item()
boost::asio::awaitable<result<std::vector<member>>> members_of(services::dynamodb&, fleet_item);

} // namespace quern::fleet
