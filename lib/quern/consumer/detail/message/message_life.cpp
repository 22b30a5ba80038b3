#include <quern/consumer/detail/message/message_life.hpp>

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdio>
#include <utility>

namespace quern::detail {

namespace {

using S = message_life::state;
using E = message_life::event;
using L = message_life;

constexpr L::actions lost_for_good = L::note_lost | L::give_back_tail | L::leave_group | L::forget | L::tell_too_late;
constexpr L::actions lost_while_running = L::note_lost | L::give_back_tail | L::tell_too_late | L::cancel;
constexpr L::actions settles = L::leave_group | L::forget | L::tell_done;

constexpr L::row rows[] = {
    {S::waiting, E::gather, S::gathering}, {S::waiting, E::begin, S::running}, {S::waiting, E::keep, S::waiting},
    {S::waiting, E::lease_lost, S::gone, lost_for_good}, {S::waiting, E::received_again, S::waiting},
    {S::waiting, E::delete_asked, S::waiting, L::tell_too_late}, {S::waiting, E::remove, S::deleting},
    {S::waiting, E::hand_off, S::handing_off}, {S::waiting, E::discard, S::discarding},
    {S::waiting, E::postpone, S::giving_back}, {S::waiting, E::postpone_later, S::giving_back_later},
    {S::waiting, E::keep_back, S::kept_back}, {S::waiting, E::extension_answered, S::waiting},

    {S::gathering, E::begin, S::running}, {S::gathering, E::keep, S::waiting},
    {S::gathering, E::lease_lost, S::gone, lost_for_good}, {S::gathering, E::received_again, S::gathering},
    {S::gathering, E::delete_asked, S::gathering, L::tell_too_late}, {S::gathering, E::postpone, S::giving_back},
    {S::gathering, E::postpone_later, S::giving_back_later}, {S::gathering, E::keep_back, S::kept_back},
    {S::gathering, E::extension_answered, S::gathering},

    {S::running, E::end, S::ended}, {S::running, E::lease_lost, S::running_lost, lost_while_running},
    {S::running, E::received_again, S::running}, {S::running, E::delete_asked, S::deleting_early, L::send_delete},
    {S::running, E::extension_answered, S::running},
    {S::running, E::delete_done, S::running}, // asked for in an earlier life of its lease
    {S::running, E::delete_refused, S::running},

    {S::running_lost, E::end, S::gone, L::leave_group | L::forget | L::tell_too_late},
    {S::running_lost, E::lease_lost, S::running_lost}, {S::running_lost, E::received_again, S::running_returned},
    {S::running_lost, E::delete_asked, S::running_lost, L::tell_too_late},
    {S::running_lost, E::extension_answered, S::running_lost}, {S::running_lost, E::delete_done, S::running_lost},
    {S::running_lost, E::delete_refused, S::running_lost},

    {S::running_returned, E::end, S::ended, L::release},
    {S::running_returned, E::lease_lost, S::running_lost, lost_while_running},
    {S::running_returned, E::received_again, S::running_returned},
    {S::running_returned, E::delete_asked, S::running_returned, L::tell_too_late},
    {S::running_returned, E::extension_answered, S::running_returned},
    {S::running_returned, E::delete_done, S::running_returned},
    {S::running_returned, E::delete_refused, S::running_returned},

    {S::deleting_early, E::end, S::deleting, L::leave_group},
    {S::deleting_early, E::lease_lost, S::running_lost, lost_while_running}, // what it asked for comes too late
    {S::deleting_early, E::received_again, S::deleting_early},
    {S::deleting_early, E::delete_asked, S::deleting_early},
    {S::deleting_early, E::extension_answered, S::deleting_early},
    {S::deleting_early, E::delete_done, S::deleted_early, L::count_acked | L::drop_lease | L::tell_done},
    {S::deleting_early, E::delete_refused, S::running_lost, L::refuse_lease | lost_while_running},

    {S::deleted_early, E::end, S::gone, L::leave_group | L::forget | L::tell_done},
    {S::deleted_early, E::lease_lost, S::deleted_early},
    {S::deleted_early, E::received_again, S::deleting_copy_early, L::send_delete},
    {S::deleted_early, E::delete_asked, S::deleted_early, L::tell_done},
    {S::deleted_early, E::extension_answered, S::deleted_early}, {S::deleted_early, E::delete_done, S::deleted_early},
    {S::deleted_early, E::delete_refused, S::deleted_early},

    {S::deleting_copy_early, E::end, S::deleting_copy, L::leave_group},
    {S::deleting_copy_early, E::lease_lost, S::deleting_copy_early},
    {S::deleting_copy_early, E::received_again, S::deleting_copy_early},
    {S::deleting_copy_early, E::delete_asked, S::deleting_copy_early, L::tell_done},
    {S::deleting_copy_early, E::extension_answered, S::deleting_copy_early},
    {S::deleting_copy_early, E::delete_done, S::deleted_early, L::drop_lease | L::tell_done},
    {S::deleting_copy_early, E::delete_refused, S::deleted_early}, // only the copy will come again

    {S::ended, E::keep, S::waiting}, {S::ended, E::lease_lost, S::ended}, {S::ended, E::received_again, S::ended},
    {S::ended, E::delete_asked, S::ended, L::tell_too_late}, {S::ended, E::remove, S::deleting},
    {S::ended, E::hand_off, S::handing_off}, {S::ended, E::discard, S::discarding},
    {S::ended, E::postpone, S::giving_back}, {S::ended, E::postpone_later, S::giving_back_later},
    {S::ended, E::keep_back, S::kept_back}, {S::ended, E::extension_answered, S::ended},

    {S::deleting, E::lease_lost, S::deleting}, // it may succeed all the same
    {S::deleting, E::received_again, S::deleting}, {S::deleting, E::delete_asked, S::deleting, L::tell_too_late},
    {S::deleting, E::extension_answered, S::deleting},
    {S::deleting, E::delete_done, S::gone, L::count_acked | settles},
    {S::deleting, E::delete_refused, S::gone, lost_for_good},

    {S::deleting_copy, E::lease_lost, S::deleting_copy}, {S::deleting_copy, E::received_again, S::deleting_copy},
    {S::deleting_copy, E::delete_asked, S::deleting_copy, L::tell_too_late},
    {S::deleting_copy, E::extension_answered, S::deleting_copy}, {S::deleting_copy, E::delete_done, S::gone, settles},
    {S::deleting_copy, E::delete_refused, S::gone, lost_for_good},

    {S::handing_off, E::lease_lost, S::handing_off}, {S::handing_off, E::received_again, S::handing_off},
    {S::handing_off, E::delete_asked, S::handing_off, L::tell_too_late}, {S::handing_off, E::discard, S::discarding},
    {S::handing_off, E::extension_answered, S::handing_off},
    {S::handing_off, E::hand_off_refused, S::gone, lost_for_good},
    {S::handing_off, E::hand_off_impossible, S::ended, L::try_later},

    {S::discarding, E::lease_lost, S::discarding}, {S::discarding, E::received_again, S::discarding},
    {S::discarding, E::delete_asked, S::discarding, L::tell_too_late},
    {S::discarding, E::extension_answered, S::discarding},
    {S::discarding, E::delete_done, S::gone, L::count_rejected | settles},
    {S::discarding, E::delete_refused, S::gone, lost_for_good},

    {S::giving_back, E::lease_lost, S::giving_back},
    {S::giving_back, E::received_again, S::gone, L::forget | L::tell_too_late}, // another entry stands for it now
    {S::giving_back, E::delete_asked, S::giving_back, L::tell_too_late},
    {S::giving_back, E::extension_answered, S::giving_back},
    {S::giving_back, E::delete_done, S::gone, L::count_acked | settles}, // asked for before its lease was lost
    {S::giving_back, E::delete_refused, S::giving_back},
    {S::giving_back, E::postpone_done, S::gone, L::count_given_back | settles},
    {S::giving_back, E::postpone_refused, S::gone, lost_for_good},

    {S::giving_back_later, E::lease_lost, S::giving_back_later},
    {S::giving_back_later, E::received_again, S::gone, L::forget | L::tell_too_late},
    {S::giving_back_later, E::delete_asked, S::giving_back_later, L::tell_too_late},
    {S::giving_back_later, E::extension_answered, S::giving_back, L::send_postpone},
    {S::giving_back_later, E::delete_done, S::gone, L::count_acked | settles},
    {S::giving_back_later, E::delete_refused, S::giving_back_later},

    {S::kept_back, E::lease_lost, S::kept_back}, {S::kept_back, E::received_again, S::kept_back},
    {S::kept_back, E::delete_asked, S::kept_back, L::tell_too_late}, {S::kept_back, E::postpone, S::giving_back},
    {S::kept_back, E::postpone_later, S::giving_back_later}, {S::kept_back, E::extension_answered, S::kept_back},
    {S::kept_back, E::delete_done, S::gone, L::count_acked | settles},
    {S::kept_back, E::delete_refused, S::kept_back},

    {S::gone, E::lease_lost, S::gone}, {S::gone, E::delete_asked, S::gone, L::tell_too_late},
    {S::gone, E::extension_answered, S::gone}, {S::gone, E::delete_done, S::gone},
    {S::gone, E::delete_refused, S::gone}, {S::gone, E::hand_off_refused, S::gone},
    {S::gone, E::hand_off_impossible, S::gone}, {S::gone, E::discard, S::gone}, {S::gone, E::postpone_done, S::gone},
    {S::gone, E::postpone_refused, S::gone},
    {S::gone, E::end, S::gone}, // called off on its way out of a destroyed context
};

struct step {
    S next = S::gone;
    bool legal = false;
    L::actions todo = L::none;
};

using lookup = std::array<std::array<step, L::events>, L::states>;

constexpr lookup make_lookup()
{
    lookup out{};
    for (auto const& r : rows) {
        auto& to = out[static_cast<std::size_t>(r.at)][static_cast<std::size_t>(r.what)];
        if (to.legal) throw "two rows for one pair of state and event"; // at compile time
        to = {r.next, true, r.todo};
    }
    return out;
}

constexpr lookup steps = make_lookup();
thread_local L::listener* hears = nullptr;

/// False, having said which pair has no row.
[[maybe_unused]] bool complain(S at, E what)
{
    auto const says = std::string(name_of(what)) + " in state " + std::string(name_of(at));
    std::fprintf(stderr, "message_life: %s: docs/design/consumer.md has no such row\n", says.c_str());
    return false;
}

} // namespace

std::span<message_life::row const> message_life::table()
{
    return rows;
}

message_life::listener* message_life::listen(listener* who)
{
    return std::exchange(hears, who);
}

message_life::actions message_life::on(event what)
{
    if (what == event::postpone && extending_) what = event::postpone_later;
    if (what == event::extension_answered) extending_ = false;
    auto const& to = steps[static_cast<std::size_t>(at_)][static_cast<std::size_t>(what)];
    assert(to.legal || complain(at_, what));
    if (!to.legal) return none;
    if (hears) [[unlikely]]
        hears->stepped({at_, what, to.next, to.todo});
    at_ = to.next;
    if (what == event::begin) overdue_ = cancelled_ = false; // again, if an outage has kept it
    return to.todo;
}

bool message_life::wants_delete() const
{
    return at_ == state::deleting_early || at_ == state::deleting_copy_early ||
        (at_ >= state::deleting && at_ <= state::discarding && at_ != state::handing_off);
}

bool message_life::wants_extension() const
{
    return at_ != state::gone && !is_given_back() && !is_deleted();
}

bool message_life::note_loss()
{
    auto const first = !lost_;
    lost_ = true;
    return first;
}

bool message_life::mark_overdue()
{
    auto const first = !overdue_;
    overdue_ = true;
    return first;
}

bool message_life::mark_cancelled()
{
    auto const first = !cancelled_;
    cancelled_ = true;
    return first;
}

std::string_view name_of(message_life::state s)
{
    static constexpr std::array<std::string_view, message_life::states> names{"waiting", "gathering", "running",
        "running_lost", "running_returned", "deleting_early", "deleted_early", "deleting_copy_early", "ended",
        "deleting", "deleting_copy", "handing_off", "discarding", "giving_back", "giving_back_later", "kept_back",
        "gone"};
    return names.at(static_cast<std::size_t>(s));
}

std::string_view name_of(message_life::event e)
{
    static constexpr std::array<std::string_view, message_life::events> names{"gather", "begin", "keep", "end",
        "lease_lost", "received_again", "delete_asked", "remove", "hand_off", "discard", "postpone", "postpone_later",
        "keep_back", "extension_answered", "delete_done", "delete_refused", "hand_off_refused", "hand_off_impossible",
        "postpone_done", "postpone_refused"};
    return names.at(static_cast<std::size_t>(e));
}

} // namespace quern::detail
