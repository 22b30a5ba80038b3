// What handlers ask for while they run: their message deleted now, its lease extended.

#include <quern/consumer/detail/message/thrown.hpp>
#include <quern/consumer/detail/pipeline.hpp>

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace quern {

namespace asio = boost::asio;
using deletion = handler_asks::deletion;

namespace {

handler_asks& asks_of(held& h)
{
    if (!h.asks) h.asks = std::make_unique<handler_asks>();
    return *h.asks;
}

void tell_all(handler_asks::answers& waiting, result<void> const& said)
{
    for (auto const& tell : std::exchange(waiting, {}))
        tell(said);
}

} // namespace

result<void> consumer::pipeline::too_late()
{
    return failure(errc::receipt_expired, "the message is settled, or its lease is lost");
}

void consumer::pipeline::ask_ack(held& of, delivery::keeper::reply tell)
{
    asio::post(strand, [self = shared_from_this(), h = held_ptr(&of), tell = std::move(tell)]() mutable {
        auto& asks = asks_of(*h);
        if (asks.deleted()) return tell({});
        if (h->at != held::stage::running || h->lost || self->ended_) return tell(too_late());
        asks.acks.push_back(std::move(tell));
        if (std::exchange(asks.ack, deletion::asked) == deletion::asked) return;
        self->settle_.add({std::move(h), settlement::purpose::remove}, self->now());
        self->wake_.ring();
    });
}

void consumer::pipeline::ask_extend(held& of, std::chrono::seconds at_least, delivery::keeper::reply tell)
{
    asio::post(strand, [self = shared_from_this(), h = held_ptr(&of), at_least, tell = std::move(tell)]() mutable {
        auto& asks = asks_of(*h);
        auto const running = h->at == held::stage::running && !h->lost && !self->ended_;
        if (!running || asks.deleted()) return tell(too_late());
        at_least = self->whole_seconds(*h, std::clamp(at_least, std::chrono::seconds(0), lease_book::horizon));
        if (h->message.remaining() >= at_least) return tell({});
        asks.lease = std::max(asks.lease, at_least);
        asks.extensions.push_back(std::move(tell));
        if (!h->extending) self->extend_as_asked(h); // two on the wire could overtake each other
    });
}

void consumer::pipeline::extend_as_asked(held_ptr const& h)
{
    if (!h->asks || h->asks->extensions.empty()) return;
    settle_.add({h, settlement::purpose::extend, h->asks->lease}, now());
    wake_.ring();
}

void consumer::pipeline::extended(held_ptr const& h, std::chrono::seconds timeout)
{
    if (!h->asks) return;
    if (timeout >= whole_seconds(*h, h->asks->lease)) { // the horizon may have cut it when it was sent
        h->asks->lease = {};
        tell_all(h->asks->extensions, result<void>());
    } else {
        extend_as_asked(h);
    }
}

/// The delete that a handler asked for has been answered while it still runs.
void consumer::pipeline::deleted_early(held_ptr const& h, settled how)
{
    if (!h->asks || h->asks->ack == deletion::none) return; // the handler was told that its lease is lost
    if (how == settled::lost && h->asks->deleted()) {
        h->asks->ack = deletion::confirmed; // only the copy will come again
        return;
    }
    if (how == settled::lost) {
        leases_.refused(*h, now());
        return lose(h);
    }
    if (!h->asks->deleted()) ++counters.acked;
    h->asks->ack = deletion::confirmed;
    h->lease_hook::unlink(); // there is no lease any more
    tell_asks(*h, {});
}

/// A copy of a message that its handler had deleted has been received: it goes the same way.
void consumer::pipeline::delete_again(held_ptr const& h)
{
    if (!h->asks || h->asks->ack != deletion::confirmed) return;
    h->asks->ack = deletion::again;
    settle_.add({h, settlement::purpose::remove}, now());
}

/// Whatever it says after it has asked for the delete comes too late.
void consumer::pipeline::ended_after_ack(held_ptr h, std::exception_ptr thrown, std::optional<outcome> const& said)
{
    auto const failed = thrown && !h->cancelled;
    if (failed) log_.write(log_level::warning, "handler failed after its ack", std::string(h->message.id()), now());
    outage::news about_it;
    if (failed && !is_parse_error(thrown)) about_it.what = outage::sign::bad;
    if (said) about_it = outage::news_of(*said);
    outage_.ended(*h, about_it, now());
    groups_.leave(*h);
    h->removing = true;
    if (h->asks->ack == deletion::confirmed) in_flight.remove(*h);
}

void consumer::pipeline::tell_asks(held& h, result<void> const& deleted)
{
    if (!h.asks) return;
    tell_all(h.asks->acks, deleted);
    tell_all(h.asks->extensions, deleted ? too_late() : deleted);
}

/// Nobody will answer any more. A handler that went on waiting would keep alive the pipeline that keeps what it waits for.
void consumer::pipeline::forget_asks()
{
    in_flight.for_each([](held_ptr const& h) {
        if (!h->asks) return;
        h->asks->acks.clear();
        h->asks->extensions.clear();
    });
}

} // namespace quern
