#pragma once

#include <quern/core/alarm.hpp>
#include <quern/policy/detail/flag_rule.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>
#include <optional>
#include <random>
#include <string>

namespace quern::app {

/// A flag that is read in the background, for who asks it before each step and must not wait.
///
/// Threads  the executor's only one.
class flag_watch : public std::enable_shared_from_this<flag_watch> {
public:
    flag_watch(boost::asio::any_io_executor, policy::flag_options, clock& time = real_clock());

    /// Completes once it has a word, or was tried for options.interval. Reads on until end().
    boost::asio::awaitable<void> begin();
    void end();

    /// Why nothing may be done now; nothing when all may.
    std::optional<std::string> halted() const;

private:
    boost::asio::awaitable<void> read();
    boost::asio::awaitable<void> go_on(std::shared_ptr<flag_watch> self);

    boost::asio::any_io_executor const executor_;
    std::shared_ptr<policy::flag_source> const source_;
    clock& time_;
    policy::detail::flag_rule rule_;
    std::mt19937_64 random_{std::random_device()()};
    alarm wake_;
    bool over_ = false;
};

} // namespace quern::app
