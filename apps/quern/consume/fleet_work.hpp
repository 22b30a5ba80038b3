#pragma once

#include <quern/core/alarm.hpp>
#include <quern/fleet/fleet_limit.hpp>

#include <quern/consumer/options.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace quern::app {

class consume_work;
struct session;

/// Item that "ddb:TABLE/NAME" names, a table by its name or ARN.
result<fleet::fleet_item> parse_fleet(std::string const& text);

/// Why it names none, for whoever typed it; empty when it does.
std::string check_fleet(std::string const& text);

/// The budget, of --rate, which may be empty, and --fleet-concurrency.
fleet::budget fleet_budget_of(std::string const& rate, std::optional<std::size_t> concurrency);

/// The slice of this program's consumers.
class fleet_work {
public:
    static result<std::unique_ptr<fleet_work>> to(session&, std::string const& where, fleet::budget);

    fleet_work(session&, std::shared_ptr<services::dynamodb>, fleet::fleet_limit_options);

    /// Sets what a consumer may do before it has a slice.
    void limit(consumer_options&) const;

    /// The work outlives finish().
    void begin(consume_work&);

    /// Gives the slice back, within two seconds.
    boost::asio::awaitable<void> finish();

private:
    boost::asio::awaitable<fleet::usage> look();
    void turn(fleet::amounts const&);

    session& s_;
    fleet::budget const all_;
    fleet::fleet_limit limit_;
    alarm ended_;
    bool over_ = true;
    consume_work* of_ = nullptr;
    std::uint64_t settled_ = 0;
    tick looked_at_{};
};

} // namespace quern::app
