#include <quern/consumer/detail/lease_book.hpp>
#include <quern/consumer/detail/settle/settle_queue.hpp>
#include <quern/sim/virtual_clock.hpp>

#include <boost/test/unit_test.hpp>

#include <deque>

using namespace quern;
using namespace quern::detail;
using namespace std::chrono_literals;

namespace {

struct settling {
    using purpose = settlement::purpose;

    sim::virtual_clock time;
    tick const t0 = time.now() + 1h;
    settle_queue queue{10ms, 30s, 5s, 1};
    lease_book leases{30s};
    std::deque<std::string> names;

    using event = message_life::event;

    held_ptr received()
    {
        sqs::message m;
        m.id = m.receipt_handle = names.emplace_back("m" + std::to_string(names.size()));
        auto out = make_held(m, nullptr, time, t0);
        leases.hold(*out, t0);
        return out;
    }

    held_ptr running()
    {
        auto out = received();
        out->life.on(event::begin);
        return out;
    }

    /// One that is being deleted.
    held_ptr message()
    {
        auto out = running();
        for (auto const e : {event::end, event::remove})
            out->life.on(e);
        return out;
    }

    void add(purpose why, tick at, std::chrono::seconds timeout = 0s) { queue.add({message(), why, timeout}, at); }
};

result<void> failed(errc what, bool sender_fault = false)
{
    failure f(what, "");
    f.sender_fault = sender_fault;
    return f;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(settle_queue_rule, settling)

// Its handler had asked for the delete, then the lease was lost, and the message has come back since.
BOOST_AUTO_TEST_CASE(a_delete_does_not_go_out_for_a_message_that_is_given_back)
{
    auto const h = received();
    h->life.on(event::begin);
    h->life.on(event::delete_asked);
    queue.add({h, purpose::remove, 0s}, t0);
    for (auto const e : {event::lease_lost, event::received_again, event::end, event::postpone})
        h->life.on(e);
    queue.add({h, purpose::postpone, 0s}, t0);
    auto const only = queue.take(t0, false);
    BOOST_REQUIRE(only.has_value());
    BOOST_TEST(only->what == settle_queue::call::change);
    BOOST_TEST(!queue.take(t0, false).has_value());
}

BOOST_AUTO_TEST_CASE(a_full_request_goes_at_once)
{
    for (int i = 0; i < 12; ++i)
        add(purpose::remove, t0);
    auto const batch = queue.take(t0, true);
    BOOST_REQUIRE(batch.has_value());
    BOOST_TEST(batch->what == settle_queue::call::remove);
    BOOST_TEST(batch->entries.size() == 10u);
    BOOST_TEST(batch->entries[0].what->message.id() == "m0");
    BOOST_TEST(!queue.take(t0, true).has_value());
    BOOST_TEST(queue.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_partial_request_waits_for_company_no_longer_than_the_linger)
{
    add(purpose::remove, t0);
    add(purpose::remove, t0 + 4ms);
    BOOST_TEST(!queue.take(t0 + 9ms, true).has_value());
    BOOST_TEST(*queue.wake_at() == t0 + 10ms);
    BOOST_TEST(queue.take(t0 + 10ms, true)->entries.size() == 2u);
    BOOST_TEST(!queue.wake_at().has_value());
}

BOOST_AUTO_TEST_CASE(nothing_waits_when_no_handler_could_add_to_it)
{
    add(purpose::remove, t0);
    BOOST_TEST(queue.take(t0, false)->entries.size() == 1u);
}

BOOST_AUTO_TEST_CASE(deletes_and_visibility_changes_go_in_requests_of_their_own)
{
    add(purpose::remove, t0);
    add(purpose::postpone, t0, 5s);
    add(purpose::extend, t0, 30s);
    BOOST_TEST(queue.take(t0, false)->what == settle_queue::call::remove);
    auto const changes = queue.take(t0, false);
    BOOST_TEST(changes->what == settle_queue::call::change);
    BOOST_TEST(changes->entries.size() == 2u);
    BOOST_TEST(changes->entries[0].timeout == 5s);
}

BOOST_AUTO_TEST_CASE(what_failed_comes_back_after_a_growing_pause)
{
    auto now = t0;
    settlement entry{message(), purpose::remove, 0s};
    for (int attempt = 0; attempt < 12; ++attempt) {
        queue.add_again(std::move(entry), now);
        BOOST_TEST(!queue.take(now, false).has_value());
        auto const pause = std::chrono::duration_cast<std::chrono::milliseconds>(*queue.wake_at() - now).count();
        auto const full = std::min<std::int64_t>(50LL << attempt, 5'000);
        BOOST_TEST(pause >= full / 2);
        BOOST_TEST(pause <= full);
        now = *queue.wake_at();
        auto batch = queue.take(now, false);
        BOOST_REQUIRE(batch.has_value());
        entry = std::move(batch->entries.at(0));
        BOOST_TEST(entry.attempts == attempt + 1);
    }
}

// While SQS answered 503 to everything, each delete of a request that failed went out again by itself: 4,500 requests
// in three seconds for 300 messages.
BOOST_AUTO_TEST_CASE(a_request_that_failed_does_not_come_back_as_ten)
{
    for (int i = 0; i < 100; ++i)
        queue.add_again({message(), purpose::remove}, t0 + i * 10us);
    int requests = 0;
    while (auto const at = queue.wake_at()) {
        while (queue.take(*at, true))
            ++requests;
    }
    BOOST_TEST(queue.size() == 0u);
    BOOST_TEST(requests <= 13);
}

BOOST_AUTO_TEST_CASE(a_retry_does_not_hold_up_what_is_new)
{
    queue.add_again({message(), purpose::remove, 0s, 5}, t0);
    add(purpose::remove, t0);
    auto const batch = queue.take(t0, false);
    BOOST_TEST(batch->entries.size() == 1u);
    BOOST_TEST(batch->entries[0].attempts == 0);
}

BOOST_AUTO_TEST_CASE(an_answer_is_judged_by_what_it_says_about_the_newest_handle)
{
    lease_book book(30s);
    auto const h = message();
    book.hold(*h, t0);
    settlement const removal{h, purpose::remove, 0s};
    auto older = removal, older_extension = settlement{h, purpose::extend, 30s};
    older.handle = older_extension.handle = h->handles - 1;
    BOOST_TEST(judge(removal, result<void>(), t0) == settled::done);
    // SQS accepts an older handle, but the message may still be there.
    BOOST_TEST(judge(older, result<void>(), t0) == settled::again);
    BOOST_TEST(judge(older_extension, result<void>(), t0) == settled::done);
    BOOST_TEST(judge(removal, failed(errc::receipt_expired, true), t0) == settled::lost);
    BOOST_TEST(judge(removal, failed(errc::throttled), t0) == settled::again);
    BOOST_TEST(judge(removal, failed(errc::not_confirmed), t0) == settled::again);
    BOOST_TEST(judge(removal, failed(errc::service_error, true), t0) == settled::again);
    BOOST_TEST(judge(removal, failed(errc::timed_out), t0 + 29s) == settled::again);
    BOOST_TEST(judge(removal, failed(errc::timed_out), t0 + 30s) == settled::lost);
}

// The delete's failure was known just after the lease's end, then came the confirmation of an extension sent before:
// the message, hidden for a whole lease more and forgotten here, was handled twice.
BOOST_AUTO_TEST_CASE(a_delete_that_failed_is_not_given_up_while_an_extension_is_on_the_wire)
{
    auto const h = message();
    settlement const removal{h, purpose::remove}, copy{h, purpose::hand_off}, extension{h, purpose::extend, 30s};
    h->life.extension_sent();
    BOOST_TEST(judge(removal, failed(errc::timed_out), t0 + 30s) == settled::again);
    BOOST_TEST(judge(copy, failed(errc::timed_out), t0 + 30s) == settled::again);
    BOOST_TEST(judge(removal, failed(errc::receipt_expired, true), t0 + 30s) == settled::lost);
    BOOST_TEST(judge(extension, failed(errc::timed_out), t0 + 30s) == settled::lost);
    h->life.on(event::extension_answered);
    BOOST_TEST(judge(removal, failed(errc::timed_out), t0 + 30s) == settled::lost);
}

BOOST_AUTO_TEST_CASE(the_message_with_the_least_lease_left_goes_first)
{
    auto const fresh = message(), old = message(), older = message();
    leases.hold(*older, t0 - 21s);
    leases.hold(*old, t0 - 10s);
    leases.hold(*fresh, t0);
    queue.add({fresh, purpose::remove}, t0);
    queue.add({old, purpose::remove}, t0);
    queue.add({older, purpose::extend, 30s}, t0);
    auto const first = queue.take(t0, false), second = queue.take(t0, false);
    BOOST_REQUIRE(first);
    BOOST_REQUIRE(second);
    BOOST_TEST(first->what == settle_queue::call::change);
    BOOST_REQUIRE(second->entries.size() == 2u);
    BOOST_TEST(second->entries[0].what->message.id() == old->message.id());
}

BOOST_AUTO_TEST_CASE(whatever_the_order_in_which_they_come_they_go_by_their_leases)
{
    for (int i = 0; i < 100; ++i) {
        auto const h = message();
        leases.hold(*h, t0 - 1s * (i * 37 % 23));
        queue.add({h, purpose::remove}, t0);
    }
    tick last{};
    std::size_t gone = 0;
    while (auto const batch = queue.take(t0, false)) {
        for (auto const& e : batch->entries) {
            auto const end = e.what->message.lease_deadline();
            BOOST_TEST(last <= end);
            last = end;
            ++gone;
        }
    }
    BOOST_TEST(gone == 100u);
}

BOOST_AUTO_TEST_CASE(an_extension_of_what_is_given_back_is_dropped)
{
    auto const back = received();
    back->life.on(event::postpone);
    queue.add({back, purpose::extend, 30s}, t0);
    queue.add({back, purpose::postpone, 90s}, t0);
    auto const batch = queue.take(t0, false);
    BOOST_REQUIRE(batch.has_value());
    BOOST_REQUIRE(batch->entries.size() == 1u);
    BOOST_TEST(batch->entries[0].timeout.count() == 90);
    BOOST_TEST(!queue.take(t0, false).has_value());
}

BOOST_AUTO_TEST_CASE(only_the_newest_handle_can_say_that_the_receipt_has_expired)
{
    auto const h = message();
    leases.hold(*h, t0);
    settlement older{h, purpose::remove, 0s};
    older.handle = h->handles - 1;
    BOOST_TEST(judge(older, failed(errc::receipt_expired, true), t0) == settled::again);
}

// The message may be somebody else's by then, and an older handle still works.
BOOST_AUTO_TEST_CASE(an_extension_that_waited_until_its_lease_was_over_is_dropped)
{
    auto const h = message();
    leases.hold(*h, t0);
    queue.add({h, purpose::extend, 30s}, t0 + 29s);
    BOOST_TEST(!queue.take(t0 + 30s, false).has_value());
}

// Deletes that fail again and again while their leases are extended must not pass for the most urgent.
BOOST_AUTO_TEST_CASE(urgency_is_that_of_the_lease_as_it_stands)
{
    auto const failing = message(), fresh = message();
    leases.hold(*failing, t0);
    leases.hold(*fresh, t0 + 10s);
    queue.add_again({failing, purpose::remove}, t0);
    leases.extended(*failing, t0 + 20s, 30s);
    queue.add({fresh, purpose::extend, 30s}, t0 + 20s);
    auto const first = queue.take(t0 + 20s, false);
    BOOST_REQUIRE(first.has_value());
    BOOST_TEST(first->what == settle_queue::call::change);
}

// All calls hung, each for a sixth of the lease. Deletes whose leases were over, and others that had been sent
// before, took the call that the one extension that had never been asked for was waiting for.
BOOST_AUTO_TEST_CASE(a_lease_that_can_still_be_saved_goes_before_one_that_is_over)
{
    auto const over = message(), saved = message();
    leases.hold(*over, t0 - 30s);
    leases.hold(*saved, t0 - 28s);
    queue.add_again({over, purpose::remove}, t0 - 1s);
    queue.add_again({saved, purpose::extend, 30s}, t0 - 1s);
    auto const first = queue.take(t0, false), second = queue.take(t0, false);
    BOOST_REQUIRE(first);
    BOOST_REQUIRE(second);
    BOOST_TEST(first->what == settle_queue::call::change);
    BOOST_TEST(second->entries.size() == 1u); // it may still succeed
}

BOOST_AUTO_TEST_CASE(leases_that_are_over_take_no_places_from_those_that_can_be_saved)
{
    for (int i = 0; i < 10; ++i) {
        auto const over = message();
        leases.hold(*over, t0 - 31s);
        queue.add({over, purpose::remove}, t0);
    }
    auto const saved = message();
    leases.hold(*saved, t0 - 20s);
    queue.add({saved, purpose::remove}, t0);
    auto const first = queue.take(t0, false);
    BOOST_REQUIRE(first.has_value());
    BOOST_TEST(first->entries.size() == 10u);
    BOOST_TEST(first->entries[0].what->message.id() == saved->message.id());
    BOOST_TEST(queue.take(t0, false)->entries.size() == 1u);
}

BOOST_AUTO_TEST_CASE(what_was_never_asked_goes_before_what_may_have_been_carried_out)
{
    auto const tried = message(), fresh = running(), later = running();
    leases.hold(*tried, t0 - 28s);
    leases.hold(*fresh, t0 - 24s);
    leases.hold(*later, t0 - 20s);
    queue.add_again({tried, purpose::remove}, t0 - 1s);
    queue.add({fresh, purpose::extend, 30s}, t0);
    BOOST_TEST(queue.take(t0, false)->what == settle_queue::call::change);
    queue.add({later, purpose::extend, 30s}, t0); // that one can wait for as long as a call may hang
    BOOST_TEST(queue.take(t0, false)->what == settle_queue::call::remove);
}

// Where nothing was answered for longer than a lease, one of each ten extensions was of a message that had been
// deleted, and others starved.
BOOST_AUTO_TEST_CASE(a_lease_that_may_be_deleted_already_goes_after_those_that_are_only_extended)
{
    auto const handled = running();
    leases.hold(*handled, t0 - 21s);
    queue.add({handled, purpose::extend, 30s}, t0);
    for (auto const e : {event::end, event::remove})
        handled->life.on(e); // while its extension waits
    auto const has = [](settle_queue::batch const& b, held_ptr const& h) {
        return std::ranges::any_of(b.entries, [&](settlement const& e) { return e.what == h; });
    };
    for (int i = 0; i < 10; ++i) {
        auto const h = running();
        leases.hold(*h, t0 - 20s);
        queue.add({h, purpose::extend, 30s}, t0);
    }
    BOOST_TEST(!has(*queue.take(t0, false), handled));
    for (int i = 0; i < 10; ++i) {
        auto const h = running();
        leases.hold(*h, t0 - 15s); // these can wait for as long as a call may hang
        queue.add({h, purpose::extend, 30s}, t0);
    }
    BOOST_TEST(has(*queue.take(t0, false), handled));
}

// Deletes that hang must not hold every call while leases run out.
BOOST_AUTO_TEST_CASE(the_last_call_is_kept_for_leases)
{
    add(purpose::remove, t0 - 1s);
    BOOST_TEST(!queue.take(t0, false, true).has_value());
    BOOST_TEST(!queue.wake_at(true).has_value()); // or the loop would spin
    add(purpose::extend, t0, 30s);
    BOOST_TEST(queue.take(t0, false, true)->what == settle_queue::call::change);
}

// Each redelivery of a held message starts its lease anew: of the extensions that are still being tried one is
// enough.
BOOST_AUTO_TEST_CASE(of_the_extensions_of_a_message_only_the_newest_is_sent)
{
    auto const h = message();
    queue.add({h, purpose::extend, 30s}, t0);
    queue.add({h, purpose::extend, 20s}, t0);
    auto const batch = queue.take(t0, false);
    BOOST_REQUIRE(batch.has_value());
    BOOST_REQUIRE(batch->entries.size() == 1u);
    BOOST_TEST(batch->entries[0].timeout.count() == 20);
}

BOOST_AUTO_TEST_SUITE_END()
