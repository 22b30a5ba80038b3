#pragma once

#include "simulation/redrive/mortal.hpp"
#include "simulation/redrive/redrive_day.hpp"

#include <quern/sim/network.hpp>

#include <boost/asio/io_context.hpp>

#include <memory>
#include <optional>

namespace quern::sim {

/// One simulated redriver, with a network and a context of its own, so that it can be killed.
class redrive_process {
public:
    struct surroundings {
        redrive_day const& day;
        redrive_seams const& seams;
        clock& time;
        network::place service;
        redrive::options options;
        disk* on = nullptr; ///< of its journal; null: none
        int id = 0;
        int dies_at = 0; ///< see doom; 0: never
    };

    /// Fails when the journal cannot be read.
    [[nodiscard]] static result<std::unique_ptr<redrive_process>> begin(surroundings);
    ~redrive_process(); ///< killed, unless it has ended

    std::size_t run(); ///< what can be done at this moment; the number of handlers run
    void set_weather(spell const&);
    void stop() { driver_->stop(); }

    bool is_dead() const { return end_.is_dead; }
    std::optional<result<redrive::report>> const& report() const { return report_; } ///< once it has ended
    std::size_t requests() const { return network_.requests; }

private:
    explicit redrive_process(surroundings const&);

    /// Can drop its work before it goes: see process.
    struct context : boost::asio::io_context {
        using boost::asio::execution_context::shutdown;
    };

    redrive_day const& day_;
    int const id_;
    doom end_;
    network network_;
    context io_; // what it destroys refers to the members above
    mortal_api mortal_;
    std::unique_ptr<sqs::api> flawed_;
    std::optional<redrive::journal> record_;
    std::optional<redrive::redriver> driver_;
    std::optional<result<redrive::report>> report_;
};

} // namespace quern::sim
