#include <quern/consumer/detail/lease/lease_book.hpp>
#include <quern/sim/virtual_clock.hpp>

#include <boost/test/unit_test.hpp>

#include <deque>

using namespace quern;
using namespace quern::detail;
using namespace std::chrono_literals;

namespace {

struct leases {
    sim::virtual_clock time;
    tick const t0 = time.now() + 1h;
    lease_book book{30s};

    held_ptr hold(tick at)
    {
        sqs::message m;
        m.id = names.emplace_back(std::to_string(names.size()));
        auto h = make_held(m, nullptr, time, at);
        book.hold(*h, at);
        return h;
    }

    std::deque<std::string> names;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(lease_book_rule, leases)

BOOST_AUTO_TEST_CASE(a_lease_is_extended_when_a_third_is_left_and_not_before)
{
    auto const a = hold(t0);
    BOOST_TEST(book.poll(t0 + 19s).extend.empty());
    BOOST_TEST((*book.poll(t0 + 19s).wake_at == t0 + 20s));
    auto const due = book.poll(t0 + 20s);
    BOOST_TEST(due.extend.size() == 1u);
    BOOST_TEST((due.extend[0].what == a));
    BOOST_TEST((due.extend[0].timeout == 30s));
    BOOST_TEST(book.poll(t0 + 21s).extend.empty()); // asked for once
}

BOOST_AUTO_TEST_CASE(leases_of_one_receive_are_extended_together)
{
    std::vector<held_ptr> all;
    for (int i = 0; i < 25; ++i)
        all.push_back(hold(t0));
    BOOST_TEST(book.poll(t0 + 20s).extend.size() == 25u);
}

BOOST_AUTO_TEST_CASE(a_confirmed_extension_counts_from_when_it_was_sent)
{
    auto const a = hold(t0);
    book.poll(t0 + 20s);
    book.extended(*a, t0 + 20s, 30s);
    BOOST_TEST((a->message.lease_deadline() == t0 + 50s));
    BOOST_TEST((*book.poll(t0 + 22s).wake_at == t0 + 40s));
    BOOST_TEST(book.poll(t0 + 40s).extend.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_lease_whose_extension_is_never_confirmed_is_lost_at_its_end_and_once)
{
    auto const a = hold(t0);
    book.poll(t0 + 20s);
    BOOST_TEST(book.poll(t0 + 29s).lost.empty());
    auto const end = book.poll(t0 + 30s);
    BOOST_TEST(end.lost.size() == 1u);
    BOOST_TEST((end.lost[0] == a));
    BOOST_TEST(book.poll(t0 + 31s).lost.empty());
}

BOOST_AUTO_TEST_CASE(a_process_that_slept_past_the_end_reports_the_lease_lost_not_extended)
{
    auto const a = hold(t0);
    auto const late = book.poll(t0 + 5min);
    BOOST_TEST(late.extend.empty());
    BOOST_TEST(late.lost.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_settled_message_is_forgotten)
{
    auto const a = hold(t0);
    auto const b = hold(t0 + 1s);
    a->lease_hook::unlink();
    auto const due = book.poll(t0 + 21s);
    BOOST_TEST(due.extend.size() == 1u);
    BOOST_TEST((due.extend[0].what == b));
    b->lease_hook::unlink();
    BOOST_TEST(!book.poll(t0 + 31s).wake_at.has_value());
}

// The visibility timeout cannot reach beyond 12 hours after the receive: SQS refuses it (SQS developer guide).
BOOST_AUTO_TEST_CASE(no_extension_reaches_beyond_twelve_hours_from_the_receive)
{
    auto const a = hold(t0);
    auto now = t0;
    for (int guard = 0; guard < 10'000; ++guard) {
        auto const next = book.poll(now);
        if (!next.lost.empty()) break;
        for (auto const& e : next.extend) {
            BOOST_TEST((now + e.timeout <= t0 + 12h));
            book.extended(*e.what, now, e.timeout);
        }
        auto const after = book.poll(now);
        BOOST_REQUIRE(after.wake_at.has_value());
        now = *after.wake_at;
    }
    BOOST_TEST((now > t0 + 11h + 59min));
    BOOST_TEST((now <= t0 + 12h));
}

BOOST_AUTO_TEST_CASE(a_redelivery_starts_a_new_lease)
{
    auto const a = hold(t0);
    book.poll(t0 + 20s);
    book.hold(*a, t0 + 25s);
    BOOST_TEST(book.poll(t0 + 31s).lost.empty());
    BOOST_TEST((a->message.lease_deadline() == t0 + 55s));
}

BOOST_AUTO_TEST_SUITE_END()
