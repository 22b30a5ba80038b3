#pragma once

#include <quern/aws/config/environment.hpp>
#include <quern/aws/web.hpp>
#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace quern::services {

/// Scale-in protection of the ECS task that this process runs in.
///
/// Source  ECS developer guide, "Task scale-in protection endpoint".
struct task_protection_options {
    std::string agent{}; ///< URL of the container agent: ECS_AGENT_URI
    /// Protection ends by itself so long after it was last asked for, should the process hang or die: 1 minute to 48
    /// hours, whole minutes. Renewed at half of it while handlers run.
    std::chrono::minutes expires{30};
    /// A handler begins so long after the agent was asked, although there is no answer. Once; until the agent has
    /// answered in this time again, none waits.
    std::chrono::milliseconds patience{500};
    /// Time from the end of the last handler until it is taken away, so that a short gap costs no two requests.
    std::chrono::milliseconds linger{1'000};
    std::chrono::milliseconds timeout{5'000};          ///< of a request: the agent asks ECS
    std::function<void(std::string const&)> trouble{}; ///< told of refusals and silence, once for each kind; or null
    std::shared_ptr<aws::web> http{};                  ///< the network where null
    clock* time = nullptr;                             ///< the real one where null

    /// Where the agent is, by ECS_AGENT_URI; nothing outside of ECS.
    static std::optional<task_protection_options> from(aws::environment const& = aws::process_environment);

    /// The first setting that cannot work, by name.
    [[nodiscard]] std::optional<failure> validate() const;
};

/// Keeps ECS from ending this task to scale in while handlers run:
///
///     auto const held = co_await protection.hold();   // in the handler, first
///
/// The first hold asks for protection and waits for it, so that no handler runs unprotected; a second after the last
/// has gone it is taken away. An agent that refuses, or hangs, stops nothing: the messages are handled without.
///
/// Threads   one strand: the executor given. Lifetime  any; holds may outlive it.
class task_protection {
    struct state;

public:
    /// Requires  options.validate() found nothing.
    task_protection(boost::asio::any_io_executor, task_protection_options);
    ~task_protection();
    task_protection(task_protection const&) = delete;
    task_protection& operator=(task_protection const&) = delete;

    /// A handler at work, until this goes.
    class held {
    public:
        held(held&&) noexcept = default;
        held& operator=(held&&) = delete;
        ~held();

    private:
        friend class task_protection;
        explicit held(std::shared_ptr<state>);
        std::shared_ptr<state> at_;
    };

    /// Completes when the agent has answered, or has not within a second. Before the first message, so that no
    /// message waits for an agent that does not answer at all.
    boost::asio::awaitable<void> begin();

    /// Completes when the task is protected, or as the options say.
    ///
    /// Cancellation  none.
    boost::asio::awaitable<held> hold();

    /// Completes when protection has been taken away, or could not be within two seconds.
    boost::asio::awaitable<void> end();

    bool is_on() const; ///< as far as the agent has said

private:
    std::shared_ptr<state> state_;
};

} // namespace quern::services
