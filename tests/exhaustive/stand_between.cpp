#include "stand_between.hpp"
#include "doors.hpp"
#include "world.hpp"

#include <quern/consumer/detail/lease_book.hpp>
#include <quern/consumer/detail/settle/settle_queue.hpp>

#include <algorithm>

// The names are those of the Itanium ABI. A member function is called like a function whose first argument is the
// object.

#define QUERN_REAL(name) __asm__("__real_" name)
#define QUERN_WRAP(name) __asm__("__wrap_" name)

namespace quern::test {

using namespace detail;
using life = message_life;
using state = life::state;
using happening = life::event;

flaw stand_between::planted = flaw::none;
stand_between::counts stand_between::rows{};

namespace {

bool is(flaw f)
{
    return stand_between::planted == f;
}

bool is_in_table(state at, happening what)
{
    static auto const known = [] {
        std::array<std::array<bool, life::events>, life::states> out{};
        for (auto const& r : life::table())
            out[static_cast<std::size_t>(r.at)][static_cast<std::size_t>(r.what)] = true;
        return out;
    }();
    return known[static_cast<std::size_t>(at)][static_cast<std::size_t>(what)];
}

} // namespace

std::string_view name_of(flaw f)
{
    static constexpr std::array<std::string_view, flaws> names{"none", "never_extends", "extends_once",
        "stops_extending", "keeps_lost_leases", "forgets_failed_deletes", "forgets_failed_releases",
        "forgets_failed_extensions", "drops_releases", "trusts_old_handles", "believes_lost_deletes",
        "believes_lost_releases", "believes_lost_extensions", "believes_lost_copies", "gives_up_deletes",
        "cancels_nobody", "acks_without_lease", "deletes_early_without_lease", "overtakes_its_extension",
        "forgets_it_was_released", "says_deleted_at_once", "counts_refusals_as_done", "skips_the_copy"};
    return names.at(static_cast<std::size_t>(f));
}

std::vector<life::row> stand_between::rows_not_reached()
{
    std::vector<life::row> out;
    for (auto const& r : life::table())
        if (rows[static_cast<std::size_t>(r.at)][static_cast<std::size_t>(r.what)] == 0) out.push_back(r);
    return out;
}

// ---- message_life::on() ----

life::actions real_on(life*, happening) QUERN_REAL(QUERN_NAME_ON);
life::actions wrapped_on(life*, happening) QUERN_WRAP(QUERN_NAME_ON);

life::actions wrapped_on(life* its, happening what)
{
    auto const at = its->at();
    auto const later = what == happening::postpone && its->is_extending();
    auto const row = later ? happening::postpone_later : what;
    ++stand_between::rows[static_cast<std::size_t>(at)][static_cast<std::size_t>(row)];
    auto* const w = world::now();
    if (w && !is_in_table(at, row))
        w->breaks(std::string(name_of(row)) + " in state " + std::string(name_of(at)) + ": there is no such row");
    if (what == happening::lease_lost) {
        if (is(flaw::acks_without_lease) && at == state::running) return life::none;
        if (is(flaw::deletes_early_without_lease) && at == state::deleting_early) return life::none;
    }
    if (is(flaw::overtakes_its_extension) && later) {
        its->*door(place_of_life()) = state::giving_back;
        return life::none;
    }
    if (is(flaw::counts_refusals_as_done) && what == happening::delete_refused) what = happening::delete_done;
    if (is(flaw::skips_the_copy) && what == happening::hand_off) what = happening::discard;
    // Its entry is in the ledger still: the caller carries out later what is to be done.
    auto const before = its->at();
    auto todo = real_on(its, what);
    if (w &&
        (what == happening::lease_lost || what == happening::delete_refused || what == happening::postpone_refused ||
            what == happening::hand_off_refused))
        w->note_loss(its, (todo & life::note_lost) != 0, what == happening::lease_lost);
    if (w)
        w->tell("    " + std::string(name_of(before)) + ", " + std::string(name_of(row)) + " -> " +
            std::string(name_of(its->at())));
    if (is(flaw::cancels_nobody)) todo &= static_cast<life::actions>(~life::cancel);
    if (is(flaw::forgets_it_was_released) && before == state::running_returned)
        todo &= static_cast<life::actions>(~life::release);
    if (is(flaw::says_deleted_at_once) && what == happening::delete_asked) todo |= life::tell_done;
    return todo;
}

// ---- lease_book::poll() ----

lease_book::plan real_poll(lease_book*, tick) QUERN_REAL(QUERN_NAME_POLL);
lease_book::plan wrapped_poll(lease_book*, tick) QUERN_WRAP(QUERN_NAME_POLL);

lease_book::plan wrapped_poll(lease_book* book, tick now)
{
    auto out = real_poll(book, now);
    auto* const w = world::now();
    auto const drains = w && w->any_drains();
    if (is(flaw::never_extends) || (is(flaw::stops_extending) && drains)) out.extend.clear();
    if (is(flaw::extends_once))
        std::erase_if(out.extend, [](auto const& e) {
            return e.what->received_at + 2 * lease / 3 < e.what->message.lease_deadline() - lease;
        });
    if (is(flaw::keeps_lost_leases)) out.lost.clear();
    return out;
}

// ---- judge() ----

settled real_judge(settlement const&, result<void> const&, tick) QUERN_REAL(QUERN_NAME_JUDGE);
settled wrapped_judge(settlement const&, result<void> const&, tick) QUERN_WRAP(QUERN_NAME_JUDGE);

settled wrapped_judge(settlement const& s, result<void> const& answer, tick now)
{
    using purpose = settlement::purpose;
    auto const out = real_judge(s, answer, now);
    if (is(flaw::trusts_old_handles) && answer) return settled::done;
    if (answer || answer.error().code == errc::receipt_expired) return out;
    auto const believes = (is(flaw::believes_lost_deletes) && s.why == purpose::remove) ||
        (is(flaw::believes_lost_releases) && s.why == purpose::postpone) ||
        (is(flaw::believes_lost_extensions) && s.why == purpose::extend) ||
        (is(flaw::believes_lost_copies) && s.why == purpose::hand_off);
    if (believes) return settled::done;
    if (is(flaw::gives_up_deletes) && s.why == purpose::remove) return settled::lost;
    return out;
}

// ---- settle_queue ----

void real_add(settle_queue*, settlement, tick) QUERN_REAL(QUERN_NAME_ADD);
void wrapped_add(settle_queue*, settlement, tick) QUERN_WRAP(QUERN_NAME_ADD);

void wrapped_add(settle_queue* to, settlement s, tick now)
{
    if (is(flaw::drops_releases) && s.why == settlement::purpose::postpone && s.timeout.count() == 0) return;
    real_add(to, std::move(s), now);
}

void real_add_again(settle_queue*, settlement, tick) QUERN_REAL(QUERN_NAME_ADD_AGAIN);
void wrapped_add_again(settle_queue*, settlement, tick) QUERN_WRAP(QUERN_NAME_ADD_AGAIN);

void wrapped_add_again(settle_queue* to, settlement s, tick now)
{
    using purpose = settlement::purpose;
    if (is(flaw::forgets_failed_deletes) && s.why == purpose::remove) return;
    if (is(flaw::forgets_failed_releases) && s.why == purpose::postpone) return;
    if (is(flaw::forgets_failed_extensions) && s.why == purpose::extend) return;
    real_add_again(to, std::move(s), now);
}

} // namespace quern::test
