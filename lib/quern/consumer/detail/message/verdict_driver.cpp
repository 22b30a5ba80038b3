// What becomes of a message when its handler has ended.

#include <quern/consumer/detail/message/thrown.hpp>
#include <quern/consumer/detail/pipeline.hpp>
#include <quern/policy/age.hpp>

#include <utility>

namespace quern {

namespace {

/// So long those behind a failed head wait for it here, their leases extended; what an outage puts off for 30 s and more
/// is not waited for. When the head is late, another consumer has it: postponing takes up to a second, receiving less.
constexpr std::chrono::seconds longest_wait_for_head{20}, grace_of_head{5};

/// Safe in a log line and in an attribute of a message: short, and printable ASCII.
std::string printable(std::string_view text, std::size_t longest)
{
    std::string out(text.substr(0, longest));
    for (auto& c : out) { // not even UTF-8: the cut may fall inside a character
        auto const byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte > 0x7e) c = '?';
    }
    return out;
}

std::string what_happened(std::exception_ptr const& thrown)
{
    try {
        std::rethrow_exception(thrown);
    } catch (std::exception const& e) {
        return e.what();
    } catch (...) {
        return "an exception that is no std::exception";
    }
}

} // namespace

void consumer::pipeline::handled(held_ptr h, std::exception_ptr thrown, std::optional<outcome> said)
{
    if (--running_ == 0) busy_.reset();
    run_limit::ended(*h);
    auto const has_run = thrown || said;
    auto const run = std::move(h->run);
    if (!has_run && run) { // the rest of its batch goes on without it
        --run->messages;
        tell_when_all_say_so(run);
    }
    h->at = held::stage::settling;
    if (drain_ && has_run) ++(thrown && h->cancelled && !h->lost ? report_.cancelled : report_.finished);
    wake_.ring();
    if (h->asks && h->asks->ack != handler_asks::deletion::none) return ended_after_ack(std::move(h), thrown, said);
    auto const time = now();
    auto const over = h->message.lease_deadline() <= time;
    if (thrown && !h->cancelled && !over) said = meaning_of(*h, thrown);
    outage_.ended(*h, over || !said ? outage::sign::none : outage::sign_of(*said), time);
    if (over || (h->lost && !h->back)) { // another consumer may have the message
        note_lost(*h);
        tell_asks(*h, too_late());
        give_back_tail(*h);
        groups_.leave(*h);
        in_flight.remove(*h);
    } else if (h->lost || !said) { // it has come back here since its lease was lost; or the drain cancelled it
        fail(std::move(h), release());
    } else {
        conclude(std::move(h), *said);
    }
}

outcome consumer::pipeline::meaning_of(held& h, std::exception_ptr thrown)
{
    if (options.classify && !h.overdue) {
        try {
            if (auto given = options.classify(thrown)) return *std::move(given);
        } catch (...) {
            log_.write(log_level::error, "classify", "threw an exception; ignored", now());
        }
    }
    auto const why = h.overdue ? "ran for longer than handler_timeout" : what_happened(thrown);
    if (!h.overdue && is_parse_error(thrown)) {
        ++counters.malformed;
        return malformed(h, why);
    }
    log_.write(log_level::warning, "handler failed", std::string(h.message.id()) + ": " + why, now());
    return retry();
}

outcome consumer::pipeline::malformed(held& h, std::string const& why)
{
    log_.write(log_level::error, "malformed message",
        std::string(h.message.id()) + ": " + why + "; it begins: " + printable(h.message.body(), 80), now());
    switch (options.on_malformed) {
    case malformed_policy::reject: return quern::reject("malformed: " + why);
    case malformed_policy::discard: h.discarded = true; return ack();
    case malformed_policy::retry: break;
    }
    return retry();
}

void consumer::pipeline::conclude(held_ptr h, outcome const& verdict)
{
    switch (verdict.what()) {
    case outcome::kind::ack:
        if (!h->discarded) groups_.leave(*h);
        return settle(std::move(h), settlement::purpose::remove);
    case outcome::kind::reject: return reject(std::move(h), verdict.reason());
    case outcome::kind::unavailable:
        log_.write(log_level::warning, "unavailable",
            std::string(h->message.id()) + ": what its handler needs is down", now());
        return stand_back(std::move(h));
    case outcome::kind::retry:
        if (fifo_ && options.on_group_failure == group_policy::skip_head) {
            return reject(std::move(h), "failed at the head of its group");
        }
        [[fallthrough]];
    case outcome::kind::retry_after:
    case outcome::kind::release: return fail(std::move(h), verdict);
    }
}

/// It comes back, and whatever stands behind it in its group waits for it.
void consumer::pipeline::fail(held_ptr h, outcome const& verdict)
{
    auto delay = verdict.at() ? policy::delay_until(*verdict.at(), time_.wall()) : verdict.delay();
    if (verdict.what() == outcome::kind::retry) {
        delay = options.backoff.delay(h->message.receive_count(), random_);
        if (fifo_ && options.on_group_failure == group_policy::park_group) delay = options.park_for;
        if (fifo_ && options.on_group_failure == group_policy::halt) {
            delay = {};
            log_.write(log_level::error, "halted",
                std::string(h->message.id()) + ": the head of its group failed; the consumer drains", now());
            if (!drain_) begin_drain(options.drain_deadline);
        }
    }
    if (verdict.what() != outcome::kind::release && options.max_age.count() != 0) {
        auto const within = policy::within_age(
            h->message.first_received_at().value_or(time_.wall()), time_.wall(), delay, options.max_age);
        if (!within) return reject(std::move(h), "older than max_age");
        delay = *within;
    }
    fail_for(std::move(h), delay, verdict.what() != outcome::kind::release && delay <= longest_wait_for_head);
}

void consumer::pipeline::fail_for(held_ptr h, std::chrono::milliseconds delay, bool short_pause)
{
    auto const room = 2 * in_flight.size() <= options.max_in_flight && // for other groups, and for the head
        bytes_.room(in_flight.bytes(), intake_.coming()) != 0;
    if (short_pause && room && fifo_ && !drain_) {
        groups_.await(*h, now() + delay + grace_of_head);
    } else {
        give_back_tail(*h);
        groups_.leave(*h);
    }
    settle(std::move(h), settlement::purpose::postpone, delay);
}

/// A group goes on behind a rejected head only when its rejection is confirmed: until then it may come again.
void consumer::pipeline::reject(held_ptr h, std::string const& reason)
{
    auto const nowhere = options.poison_queue_url.empty();
    log_.write(log_level::error, "message rejected",
        std::string(h->message.id()) + ": " + reason + (nowhere ? "; deleted, there is no poison queue" : ""), now());
    h->rejected = true;
    h->reason = std::make_unique<std::string>(printable(reason, 256));
    settle(std::move(h), nowhere ? settlement::purpose::remove : settlement::purpose::hand_off);
}

void consumer::pipeline::give_back_tail(held const& head)
{
    for (auto& h : groups_.take_tail(head))
        settle(std::move(h), settlement::purpose::postpone);
}

} // namespace quern
