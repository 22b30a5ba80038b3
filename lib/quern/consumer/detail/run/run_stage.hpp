#pragma once

#include <quern/consumer/detail/conclude/conclude_stage.hpp>
#include <quern/consumer/detail/run/call_places.hpp>
#include <quern/consumer/detail/run/handler_channel.hpp>
#include <quern/consumer/detail/run/launcher.hpp>
#include <quern/consumer/detail/run/run_limit.hpp>
#include <quern/consumer/detail/stage_context.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace quern::detail {

class settle_stage;

/// Where handlers run: alone or as a batch, how many at once, for how long at most; and their way home.
class run_stage final : private channel_keeper {
public:
    run_stage(stage_context&, conclude_stage& to, settle_stage&, handlers);

    /// Opens the way home for handlers. Requires  stage_context::owner is set.
    void open();

    /// Handlers that end from now on are dropped: the context ends.
    void close() { launch_.close(); }

    /// Makes the handler of a message reach us.
    void attend(held& h) { launch_.attend(h); }

    /// The handler may reject messages, by what it returns.
    bool may_reject() const { return launch_.handle().says_outcomes; }

    call_places const& places() const { return places_; }
    void limits_are_turned() { places_.limits_are_turned(); }

    /// Whether messages wait for a place at this moment.
    void note_waiting(bool any) { any_wait_ = any; }

    /// Begins its handler, or has it gather with others. `hurries`: it waits for nobody.
    void start(held_ptr, bool hurries, tick now);

    /// Starts full batches, and cancels what has run for too long; says when time alone will make more due.
    std::optional<tick> turn(tick now);

    /// Does what other stages have found necessary.
    void heed_notices(tick now);

    /// Takes back those that wait for a thread or for a batch, and did not begin: all, or those of a key.
    void call_off(std::optional<std::string_view> key);

    void begin_drain(tick now); ///< what has not begun goes back
    void cancel_all();          ///< running handlers are told to end

    /// Each handler that has begun hangs, and no other can begin: of what comes nothing would be handled.
    bool is_stuck() const { return stuck_; }

private:
    void welcome() override;
    void no_place() override;
    void has_begun(held_ptr) override;
    void asked(held_ptr, delivery::wish, reply) override;

    void note_started(held&, tick now);
    void note_begun(held&, tick at);
    void look_at_welcomed(tick now);
    void came_home(finished&&, tick now);
    void run_batches(tick now);
    void stop_overdue(tick now);
    std::optional<tick> look_for_standstill(tick now);
    bool has_waited_in_vain(tick now) const;
    void cancel(held&);

    stage_context& context_;
    conclude_stage& conclude_;
    settle_stage& settle_;
    launcher launch_;
    call_places places_;
    run_limit runs_;
    bool stuck_ = false;
    bool any_wait_ = false; // for a place
    tick ended_at_{};       // a handler, last

    std::vector<finished> welcomed_; // being looked at; a member for its memory
    std::size_t looked_at_ = 0;      // of these
};

} // namespace quern::detail
