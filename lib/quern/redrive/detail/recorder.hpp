#pragma once

#include <quern/consumer/delivery.hpp>
#include <quern/redrive/redriver.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace quern::redrive::detail {

/// Tells the book of a run what becomes of its messages, each time before it is done.
///
/// Threads  one strand.
class recorder {
public:
    recorder(options const& o, sqs::api& api, clock& time, journal& in) : o_(o), api_(api), time_(time), journal_(in)
    {}

    /// The time by the clock of the service.
    wall_time now() const { return time_.wall() + api_.clock_offset(); }

    /// Begins the run, or goes on with it. Fails when it is over, is one of another queue, or cannot be written.
    [[nodiscard]] std::optional<failure> begin(wall_time began_at);

    /// Writes a fact or a decision that has no more to it than its reason.
    void note(event_kind, std::string_view id = {}, std::string reason = {});

    /// Writes the plan, unless the message was planned so before: then it is changed to what was left to chance.
    void plan(delivery const&, redrive::plan&, std::string const& to, std::chrono::seconds retention);

    void put_off(delivery const&, wall_time due, std::chrono::seconds hidden_for);

    /// True when a second copy is counted from now on, because an earlier send may have been done.
    bool begin_send(std::string_view id, sqs::send_message_entry const& copy, std::string const& to);

    /// `counted`: the attempt, where the copy does not say it; else 0.
    void end_send(std::string_view id, std::string const& to, result<sqs::send_message_response> const&, int counted);

    /// Completes when all of it is kept. Others who have something to write are let before, so that it is written at
    /// once. False: nothing may be sent any more.
    boost::asio::awaitable<bool> kept();

private:
    void write(event e) { journal_.write(std::move(e), now()); }

    options const& o_;
    sqs::api& api_;
    clock& time_;
    journal& journal_;
};

/// The message may be in the queue all the same.
bool may_be_there(failure const&);

} // namespace quern::redrive::detail
