// What handlers ask for while they run: their message deleted now, its lease extended.

#include <quern/consumer/detail/settle/settle_stage.hpp>

#include <algorithm>
#include <exception>
#include <utility>
#include <variant>

namespace quern::detail {

using std::chrono::seconds;
using life = message_life;
using purpose = settlement::purpose;

void settle_stage::asked(held_ptr h, delivery::wish what, reply tell)
{
    if (context_.ended) return tell(too_late());
    std::visit([&](auto& one) { asked_for(std::move(one), std::move(h), std::move(tell)); }, what);
}

void settle_stage::asked_for(delivery::delete_now, held_ptr h, reply tell)
{
    h->asking().deletes.push_back(std::move(tell));
    auto const now = context_.now();
    auto const over = h->message.lease_deadline() <= now; // another consumer may have the message
    if (over) context_.carry_out(h, h->life.on(life::event::lease_lost), now);
    auto const todo = h->life.on(life::event::delete_asked);
    if (todo & life::send_delete) remove_early(h, now);
    context_.carry_out(h, static_cast<life::actions>(todo & ~life::send_delete), now);
}

void settle_stage::asked_for(seconds at_least, held_ptr h, reply tell)
{
    if (!h->life.answers_asks() || !h->life.wants_extension()) return tell(too_late());
    auto const now = context_.now();
    at_least = context_.whole_seconds(*h, std::clamp(at_least, seconds(0), lease_book::horizon), now);
    if (h->message.lease_deadline() - now >= at_least) return tell({});
    auto& asks = h->asking();
    asks.lease = std::max(asks.lease, at_least);
    asks.lease_until = std::max(asks.lease_until, now + at_least);
    asks.extensions.push_back(std::move(tell));
    if (!h->life.is_extending()) extend_as_asked(h, now); // two on the wire could overtake each other
}

void settle_stage::extend_as_asked(held_ptr const& h, tick now)
{
    if (h->asks && !h->asks->extensions.empty()) extend(h, h->asks->lease, now);
}

void settle_stage::extended(held_ptr const& h, seconds timeout, tick now)
{
    if (!h->asks) return;
    auto const agreed = !h->asks->guard || h->asks->covered >= h->asks->lease_until; // else it was sent before
    if (agreed &&
        timeout >= context_.whole_seconds(*h, h->asks->lease, now)) { // the horizon may have cut it when sent
        h->asks->lease = {};
        h->asks->lease_until = {};
        for (auto const& tell : std::exchange(h->asks->extensions, {}))
            tell({});
    } else {
        extend_as_asked(h, now);
    }
}

void settle_stage::asked_for(std::shared_ptr<lease_guard> guard, held_ptr h, reply tell)
{
    if (!h->life.answers_asks()) return tell(too_late());
    auto& asks = h->asking();
    asks.guard = std::move(guard);
    asks.covered = h->message.lease_deadline();
    tell({});
}

namespace {

/// The guard reaches further than he is asked to, by more than this; a request may wait so long before it is sent.
constexpr seconds slack_of_guard{1};

boost::asio::awaitable<bool> agrees(std::shared_ptr<lease_guard> guard, seconds timeout, stage_context& its)
{
    try {
        auto const said = co_await guard->extend(timeout);
        co_return said.has_value();
    } catch (...) { // nothing thrown crosses a stage
        its.note_thrown("lease guard", std::current_exception());
    }
    co_return false;
}

} // namespace

boost::asio::awaitable<void> settle_stage::extend_as_agreed(held_ptr h, seconds timeout)
{
    auto const asked_at = context_.now();
    auto const guard = h->asks->guard;
    auto asked = guard;
    auto const agreed = co_await agrees(std::move(asked), timeout, context_);
    auto const now = context_.now();
    auto& its = h->life;
    h->asks->guard_at_work = false;
    context_.wake.ring();
    if (context_.ended || !its.wants_extension() || !its.is_held()) co_return;
    if (h->asks->guard && h->asks->guard != guard) { // the message runs again meanwhile, under another
        extend(std::move(h), timeout, now);
        co_return;
    }
    if (agreed || !h->asks->guard) {
        h->asks->covered = asked_at + timeout + slack_of_guard;
        if (its.is_extending()) co_return; // one of before: two on the wire could overtake each other
        queue(std::move(h), purpose::extend, now, timeout);
    } else if (!its.is_deleted_by_handler()) { // else its delete decides
        context_.leases.refused(*h, now);
        context_.carry_out(h, its.on(life::event::lease_lost), now);
    }
}

void settle_stage::forget_asks()
{
    context_.in_flight.for_each([](held_ptr const& h) {
        if (!h->asks) return;
        h->asks->deletes.clear();
        h->asks->extensions.clear();
        h->asks->guard.reset();
    });
}

} // namespace quern::detail
