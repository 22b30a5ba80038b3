#include <quern/consumer/detail/line.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace quern::detail {

namespace asio = boost::asio;
using std::chrono::seconds;
using life = message_life;

namespace {

void tell_all(handler_asks::answers& waiting, result<void> const& said)
{
    for (auto const& tell : std::exchange(waiting, {}))
        tell(said);
}

} // namespace

std::uint64_t seeded(std::uint64_t seed)
{
    return seed != 0 ? seed : std::random_device()();
}

result<void> too_late()
{
    return failure(errc::receipt_expired, "the message is settled, or its lease is lost");
}

void tell_asks(held& h, result<void> const& deleted)
{
    if (!h.asks) return;
    tell_all(h.asks->deletes, deleted);
    tell_all(h.asks->extensions, deleted ? too_late() : deleted);
}

line::line(compact_strand on, sqs::api& to, std::string url, consumer_options settings)
    : strand(std::move(on)), options(std::move(settings)), time(options.time ? *options.time : real_clock()), api(to),
      queue_url(std::move(url)), fifo(queue_url.ends_with(".fifo")), leases(options.visibility_timeout),
      random(seeded(options.seed)), log(options.log), wake(time, strand), bytes(options.max_bytes_in_flight)
{}

void line::spawn(asio::awaitable<void> work)
{
    if (spawned_++ == 0) at_work_ = asio::prefer(strand.inner(), asio::execution::outstanding_work.tracked);
    asio::co_spawn(strand, std::move(work), [this, alive = owner.lock()](std::exception_ptr bug) {
        if (--spawned_ == 0) at_work_.reset();
        if (bug) std::rethrow_exception(bug); // values carry every expected failure: this must not vanish
    });
}

void line::carry_out(held_ptr const& h, life::actions todo)
{
    if (!fifo) todo &= static_cast<life::actions>(~(life::give_back_tail | life::leave_group)); // there is none
    if (todo & life::refuse_lease) leases.refused(*h, now());
    if (todo & (life::drop_lease | life::forget)) leases.drop(*h);
    if (todo & life::note_lost) note_lost(*h);
    if (todo & life::count_acked) ++counters.acked;
    if (todo & life::count_rejected) note_rejected(*h);
    if (todo & life::tell_done) tell_asks(*h, {});
    if (todo & life::tell_too_late) tell_asks(*h, too_late());
    if (todo & life::forget) in_flight.remove(*h);
    if (todo & for_dispatch) {
        notices.push_back({h, static_cast<life::actions>(todo & for_dispatch)});
        wake.ring();
    }
}

void line::note_lost(held& h)
{
    if (!h.life.note_loss()) return;
    ++counters.lost;
    if (ending) ++report.lost;
    log.write(log_level::error, "lease lost", std::string(h.message.id()), now());
}

/// Each, with its id: where there is no poison queue, this line is all that is left of the message.
void line::note_rejected(held const& h)
{
    ++counters.rejected;
    auto const& to = options.poison_queue_url;
    log.write_each(log_level::error, "message rejected",
        std::string(h.message.id()) + ": " + (h.rare ? h.rare->reason : std::string()) +
            (to.empty() ? "; deleted, there is no poison queue" : "; handed to " + to),
        now());
}

seconds line::whole_seconds(held const& h, std::chrono::milliseconds delay, tick at) const
{
    auto const left = std::chrono::floor<seconds>(h.received_at + lease_book::horizon - at);
    return std::clamp(std::chrono::ceil<seconds>(delay), seconds(0), std::max(left, seconds(0)));
}

} // namespace quern::detail
