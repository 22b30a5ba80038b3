// What handlers ask for while they run: their message deleted now, its lease extended.

#include <quern/consumer/detail/settle/settle_stage.hpp>

#include <algorithm>
#include <utility>

namespace quern::detail {

using std::chrono::seconds;
using life = message_life;

void settle_stage::delete_asked(held_ptr h, reply tell)
{
    if (line_.ended) return tell(too_late());
    h->asking().deletes.push_back(std::move(tell));
    auto const todo = h->life.on(life::event::delete_asked);
    if (todo & life::send_delete) remove_early(h, line_.now());
    line_.carry_out(h, static_cast<life::actions>(todo & ~life::send_delete));
}

void settle_stage::extend_asked(held_ptr h, seconds at_least, reply tell)
{
    if (line_.ended || !h->life.answers_asks() || !h->life.wants_extension()) return tell(too_late());
    auto const now = line_.now();
    at_least = line_.whole_seconds(*h, std::clamp(at_least, seconds(0), lease_book::horizon), now);
    if (h->message.lease_deadline() - now >= at_least) return tell({});
    auto& asks = h->asking();
    asks.lease = std::max(asks.lease, at_least);
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
    if (timeout >= line_.whole_seconds(*h, h->asks->lease, now)) { // the horizon may have cut it when it was sent
        h->asks->lease = {};
        for (auto const& tell : std::exchange(h->asks->extensions, {}))
            tell({});
    } else {
        extend_as_asked(h, now);
    }
}

void settle_stage::forget_asks()
{
    line_.in_flight.for_each([](held_ptr const& h) {
        if (!h->asks) return;
        h->asks->deletes.clear();
        h->asks->extensions.clear();
    });
}

} // namespace quern::detail
