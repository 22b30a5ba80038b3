#pragma once

#include <quern/sim/coverage.hpp>
#include <quern/sim/dice.hpp>
#include <quern/sim/handler_clock.hpp>
#include <quern/sim/network.hpp>
#include <quern/sim/scenario.hpp>
#include <quern/sim/subject.hpp>
#include <quern/sim/virtual_threads.hpp>
#include <quern/sim/witness.hpp>

#include <boost/asio/io_context.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace quern::sim {

namespace detail {
class downstream;
class recorder;
} // namespace detail

/// A handler that is told the time of its process.
using timed_handler = std::function<boost::asio::awaitable<outcome>(delivery&, clock&)>;

/// One simulated process: a consumer with a network and a calendar of its own, on contexts of its own, so that it can
/// be stopped, paused and killed.
class process {
public:
    struct surroundings {
        scenario const& day; ///< as this process has it; outlives it
        clock& time;
        witness& books;
        network::place service; ///< the observer is the process's own
        std::string queue_url, poison_url;
        subject_factory const& make;
        timed_handler const& handle; ///< empty: the day draws what each try does
        detail::downstream* calls;   ///< of those; null: they call nothing
        std::function<void(int process, std::chrono::milliseconds)> pause;
        coverage* reached = nullptr; ///< null: nobody wants to know
    };

    process(surroundings const&, int id, int slot);
    ~process(); ///< killed, unless it has ended

    int const id;
    int const slot; ///< those that take the place of an earlier one have its slot
    bool paused = false;
    bool replaced = false; ///< another is about to take its place

    std::size_t run(); ///< what can be done at this moment; the number of handlers run
    /// From now on.
    void set_weather(spell const&);
    void drain(std::chrono::milliseconds limit);
    void disturb() { disturbed_at_ = clock_.now(); }
    void jump_calendar(std::chrono::milliseconds by) { clock_.offset += by; }
    void rest(bool on);
    void turn(consumer_limits const&);
    std::chrono::milliseconds drain_deadline() const { return day_.consumer.drain_deadline; }
    bool draining() const { return draining_; }
    bool ended() const { return ended_; }
    detail::recorder& notes() { return *notes_; }
    bool halted() const { return halted_; } ///< it has ended, and nobody has told it to
    std::size_t requests() const { return network_.requests; }
    drain_report const& report() const { return report_; } ///< once it has ended

private:
    /// Steady time is everybody's; the calendar is the process's own.
    struct own_clock final : clock {
        explicit own_clock(clock& c) : world(c) {}
        tick now() const override { return world.now(); }
        wall_time wall() const override { return world.wall() + offset; }
        std::unique_ptr<timer> make_timer(boost::asio::any_io_executor ex) override
        {
            return world.make_timer(std::move(ex));
        }
        clock& world;
        wall_time::duration offset{};
    };

    /// Can drop its work before it goes: handlers and the pipeline refer to each other's executors.
    struct context : boost::asio::io_context {
        using boost::asio::execution_context::shutdown;
    };

    struct attempt;
    outcome call(delivery&);
    boost::asio::awaitable<outcome> handle(delivery&);
    boost::asio::awaitable<std::vector<outcome>> handle(deliveries);
    boost::asio::awaitable<ending> play(delivery&, attempt&);
    void look_for_real_waits();
    void account_for(delivery const&, ending&);
    void drained(drain_report const&);

    scenario const& day_;
    witness& books_;
    timed_handler const& handle_;
    detail::downstream* const calls_;
    std::function<void(std::chrono::milliseconds)> const block_;
    own_clock clock_;
    handler_clock its_clock_{clock_}; // of a handler that is not drawn
    std::size_t trying_ = 0;          // of these, how many run
    tick waited_at_{};                // last, on that clock
    std::unique_ptr<detail::recorder> const notes_;
    network network_;
    context pool_; // what the contexts destroy refers to the members above
    boost::asio::io_context io_;
    std::optional<virtual_threads> threads_;
    dice order_; // of what happens on these and in the process at one moment
    std::unique_ptr<subject> subject_;
    std::map<int, int> tries_; // of each message
    drain_report report_;
    bool draining_ = false, ended_ = false, halted_ = false, fair_ = true;
    tick disturbed_at_{}, drain_began_{};
    std::chrono::milliseconds limit_{};
};

} // namespace quern::sim
