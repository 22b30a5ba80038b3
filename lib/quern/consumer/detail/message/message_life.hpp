#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace quern::detail {

/// The life of a message that is held here: one state out of a table, events, and what each of them asks for.
///
/// A pure rule. Whoever meets an event tells it, and carries out the actions that come back. A pair of state and
/// event that the table does not list is a mistake of ours and an assertion; without assertions it changes nothing.
///
/// Beside the state stand four marks that any of them may carry: an extension of the lease is on the wire, the lease
/// was reported as lost, the handler was told to end (for want of time, or by us).
class message_life {
public:
    enum class state : std::uint8_t {
        waiting,             ///< in a line, for its turn
        gathering,           ///< for a batch
        running,             ///< its handler is at work, or waits for a thread
        running_lost,        ///< the lease is over: what the handler says no longer counts
        running_returned,    ///< over, and received here again since: there is something to give back
        deleting_early,      ///< running, and the delete that the handler asked for is under way
        deleted_early,       ///< running, and that delete is confirmed
        deleting_copy_early, ///< running and deleted; a copy that came since is being deleted
        ended,               ///< the handler has ended, its verdict comes next
        deleting,            ///< handled
        deleting_copy,       ///< handled and deleted; a copy is being deleted
        handing_off,         ///< rejected: a copy goes to the poison queue
        discarding,          ///< rejected: the delete that follows
        giving_back,         ///< to be visible again, at once or later
        giving_back_later,   ///< as soon as the extension on the wire is answered, which would undo it
        kept_back,           ///< to be given back once no receive of ours is open that could bring it again
        gone,
    };
    static constexpr std::size_t states = 17;

    enum class event : std::uint8_t {
        gather,
        begin,
        keep, ///< it may not run now, and waits here
        end,  ///< of its handler
        lease_lost,
        received_again,
        delete_asked, ///< by the handler, which goes on
        remove,       ///< the verdict: done
        hand_off,     ///< the verdict: rejected, to the poison queue
        discard,      ///< the verdict: rejected, to nowhere; or the copy is confirmed
        postpone,     ///< the verdict: it comes again
        postpone_later,
        keep_back,
        extension_answered,
        delete_done,
        delete_refused,
        hand_off_refused,    ///< its lease is over
        hand_off_impossible, ///< the poison queue will never take it
        postpone_done,
        postpone_refused,
    };
    static constexpr std::size_t events = 20;

    enum action : std::uint16_t {
        none = 0,
        note_lost = 1 << 0,      ///< count and log the loss of the lease, once
        give_back_tail = 1 << 1, ///< what stands behind it in its group
        leave_group = 1 << 2,
        forget = 1 << 3, ///< out of the ledger
        cancel = 1 << 4, ///< its handler
        tell_done = 1 << 5,
        tell_too_late = 1 << 6, ///< whoever has asked for a delete or an extension
        send_delete = 1 << 7,   ///< once more, or for the first time, while the handler runs
        send_postpone = 1 << 8, ///< that had to wait
        drop_lease = 1 << 9,    ///< deleted: there is none any more
        refuse_lease = 1 << 10, ///< the service says that it is over
        release = 1 << 11,      ///< give it back at once, whatever the handler said
        count_acked = 1 << 12,
        count_rejected = 1 << 13,
        try_later = 1 << 14, ///< nobody takes it: as one that failed
        count_given_back = 1 << 15
    };
    using actions = std::uint16_t;

    struct row {
        state at;
        event what;
        state next;
        actions todo = none;
    };

    /// Every legal pair of state and event. docs/design/consumer.md shows it; a test compares the two.
    static std::span<row const> table();

    /// Somebody who hears of each step, for a simulation.
    class listener {
    public:
        virtual void stepped(row const&) = 0;

    protected:
        ~listener() = default;
    };

    /// Has steps on this thread be heard from now on; null: by nobody. Gives back who has heard them until now.
    static listener* listen(listener*);

    state at() const { return at_; }
    bool is(state s) const { return at_ == s; }

    /// Its handler is at work, whatever became of the message.
    bool is_running() const { return at_ >= state::running && at_ <= state::deleting_copy_early; }

    /// It is being settled: nothing runs, and SQS is told.
    bool is_settling() const { return at_ >= state::ended && at_ <= state::kept_back; }

    /// The message is ours to work on: nobody else can have it as far as is known.
    bool is_held() const { return at_ != state::gone && at_ != state::running_lost; }

    /// Its handler has asked for the delete, and still runs.
    bool is_deleted_by_handler() const { return at_ >= state::deleting_early && at_ <= state::deleting_copy_early; }

    /// A delete of it has been confirmed.
    bool is_deleted() const
    {
        return at_ == state::deleted_early || at_ == state::deleting_copy_early || at_ == state::deleting_copy;
    }
    bool is_given_back() const { return at_ == state::giving_back || at_ == state::giving_back_later; }

    /// A delete or a hand-off is under way and not confirmed: it may be delivered again although it was handled.
    bool is_at_risk() const { return at_ >= state::deleting && at_ <= state::discarding; }

    /// The handler may have the lease extended, or the message deleted.
    bool answers_asks() const
    {
        return at_ == state::running || (at_ >= state::deleting_early && at_ <= state::deleting_copy_early);
    }

    /// Whether a request that was queued for it still makes sense: a delete, an extension.
    bool wants_delete() const;
    bool wants_extension() const;

    /// Moves on and says what is to be done. Of postpone: postpone_later while an extension is on the wire.
    actions on(event);

    void extension_sent() { extending_ = true; }
    bool is_extending() const { return extending_; }

    /// True the first time: the lease is lost, to be counted and logged.
    bool note_loss();
    bool was_lost() const { return lost_; }

    /// The handler was told to end because it ran for too long, or because of us. Each true the first time.
    bool mark_overdue();
    bool mark_cancelled();
    bool is_overdue() const { return overdue_; }
    bool is_cancelled() const { return cancelled_; }
    bool is_told() const { return overdue_ || cancelled_; }

private:
    state at_ = state::waiting;
    bool extending_ : 1 = false;
    bool lost_ : 1 = false;
    bool overdue_ : 1 = false;
    bool cancelled_ : 1 = false;
};

std::string_view name_of(message_life::state);
std::string_view name_of(message_life::event);

} // namespace quern::detail
