#pragma once

#include <quern/sim/network.hpp>
#include <quern/sim/scenario.hpp>
#include <quern/sim/subject.hpp>
#include <quern/sim/witness.hpp>

#include <boost/asio/io_context.hpp>

#include <memory>
#include <string>

namespace quern::sim {

/// One simulated process: a consumer with a network and a calendar of its own, on a context of its own, so that it can
/// be stopped, paused and killed.
class process {
public:
    struct surroundings {
        scenario const& day;
        clock& time;
        witness& books;
        network::place service; ///< the observer is the process's own
        std::string queue_url, poison_url;
        subject_factory const& make;
    };

    process(surroundings const&, int id);
    ~process(); ///< killed, unless it has ended

    int const id;
    bool paused = false;

    std::size_t run(); ///< what can be done at this moment; the number of handlers run
    void set_faults(broker::fault_settings const&);
    void drain(std::chrono::milliseconds limit);
    void disturb() { undisturbed_ = false; }
    void jump_calendar(std::chrono::milliseconds by) { clock_.offset += by; }
    bool draining() const { return draining_; }
    bool ended() const { return ended_; }
    std::size_t requests() const { return network_.requests; }

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

    boost::asio::awaitable<outcome> handle(delivery&);

    scenario const& day_;
    witness& books_;
    own_clock clock_;
    network network_;
    boost::asio::io_context io_; // what it destroys refers to the members above
    std::unique_ptr<subject> subject_;
    bool draining_ = false, ended_ = false, undisturbed_ = true;
};

} // namespace quern::sim
