#include <quern/admin/recorder.hpp>

#include <boost/test/unit_test.hpp>

#include <numeric>

using namespace quern;
using namespace quern::admin;
using namespace std::chrono_literals;

using phase = policy::breaker::phase;

namespace {

observed_message message(std::string_view id = "m-1")
{
    observed_message out;
    out.id = id;
    out.receive_count = 3;
    return out;
}

std::uint64_t sum(duration_counts const& of)
{
    return std::accumulate(of.begin(), of.end(), std::uint64_t(0));
}

std::vector<std::string> whats(recorded const& of)
{
    std::vector<std::string> out;
    for (auto const& one : of.troubles)
        out.push_back(one.what);
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(recorders)

// Twenty rows said "handler refused: it is put off", and nobody could see which status it was.
BOOST_AUTO_TEST_CASE(a_trouble_says_what_the_handler_found)
{
    recorder r;
    auto m = message();
    m.said = "HTTP 503";
    r.ended(m, handler_end::returned, outcome::kind::unavailable);
    m.said = "connection refused";
    r.ended(m, handler_end::threw, outcome::kind::retry);
    auto const seen = r.look();
    BOOST_TEST(seen.troubles[0].text == "connection refused; it is tried again");
    BOOST_TEST(seen.troubles[1].text == "HTTP 503; what it needs is unavailable");
}

BOOST_AUTO_TEST_CASE(durations_fall_into_classes_by_their_upper_bound)
{
    recorder r;
    auto m = message();
    for (auto const took : {0ms, 1ms, 2ms, 30'000ms, 30'001ms}) {
        m.handled = took;
        r.ended(m, handler_end::returned, outcome::kind::ack);
    }
    auto const seen = r.look();
    BOOST_TEST(seen.handled.front() == 2u);
    BOOST_TEST(seen.handled[1] == 1u);
    BOOST_TEST(seen.handled[duration_bounds.size() - 1] == 1u);
    BOOST_TEST(seen.handled.back() == 1u);
    BOOST_TEST(seen.troubles.empty());
}

BOOST_AUTO_TEST_CASE(each_stage_has_its_own_durations)
{
    recorder r;
    auto m = message();
    r.received(m); // of unknown age
    BOOST_TEST(sum(r.look().queued) == 0u);
    m.queued = 5ms;
    r.received(m);
    r.began(m);
    r.ended(m, handler_end::called_off, outcome::kind::release); // it never ran
    r.settled(m, message_end::released, 0s);
    auto const seen = r.look();
    BOOST_TEST(sum(seen.queued) == 1u);
    BOOST_TEST(sum(seen.waited) == 1u);
    BOOST_TEST(sum(seen.handled) == 0u);
    BOOST_TEST(sum(seen.settling) == 1u);
}

BOOST_AUTO_TEST_CASE(what_went_wrong_is_kept_the_newest_first_and_no_more_than_fifty)
{
    recorder r;
    for (int i = 0; i != 60; ++i) {
        auto const id = "m-" + std::to_string(i);
        r.ended(message(id), handler_end::threw, outcome::kind::retry);
    }
    auto const seen = r.look();
    BOOST_TEST(seen.troubles.size() == recorder::kept);
    BOOST_TEST(seen.troubles.front().message == "m-59");
    BOOST_TEST(seen.troubles.front().attempt == 3);
    BOOST_TEST(seen.troubles.front().text == "it is tried again");
    BOOST_TEST(seen.troubles.back().message == "m-10");
}

BOOST_AUTO_TEST_CASE(each_kind_of_trouble_has_words)
{
    recorder r;
    failure const refused(errc::service_error, "refused");
    r.ended(message(), handler_end::timed_out, outcome::kind::retry);
    r.ended(message(), handler_end::unreadable, outcome::kind::reject);
    r.ended(message(), handler_end::returned, outcome::kind::unavailable);
    r.ended(message(), handler_end::returned, outcome::kind::ack);
    r.lease_lost(message());
    r.settled(message(), message_end::rejected, 0s);
    r.settled(message(), message_end::deleted, 0s);
    r.receive_failed(refused, 2);
    std::vector<std::string> const expected{
        "receive failed", "rejected", "lease lost", "handler refused", "message unreadable", "handler took too long"};
    BOOST_TEST(whats(r.look()) == expected, boost::test_tools::per_element());
    BOOST_TEST(r.look().troubles.front().text.ends_with("refused, 2 in a row"));
}

BOOST_AUTO_TEST_CASE(a_stranger_writes_no_control_characters)
{
    recorder r;
    r.lease_lost(message("a\x1b[2J"));
    r.breaker_changed("db\n", phase::closed, phase::open);
    BOOST_TEST(r.look().troubles.back().message == "a [2J");
    BOOST_TEST(r.look().breakers.begin()->first == "db ");
}

BOOST_AUTO_TEST_CASE(breakers_that_are_closed_are_not_shown_and_others_are_bounded)
{
    recorder r;
    r.breaker_changed("", phase::closed, phase::open);
    r.breaker_changed("db", phase::closed, phase::open);
    r.breaker_changed("", phase::open, phase::half_open);
    BOOST_TEST(r.look().breakers.at("") == "half open");
    BOOST_TEST(r.look().breakers.at("db") == "open");
    r.breaker_changed("", phase::half_open, phase::closed);
    BOOST_TEST(r.look().breakers.size() == 1u);
    for (int i = 0; i != 1000; ++i)
        r.breaker_changed(std::to_string(i), phase::closed, phase::open);
    BOOST_TEST(r.look().breakers.size() == recorder::most_breakers);
    r.breaker_changed("db", phase::open, phase::half_open);
    BOOST_TEST(r.look().breakers.at("db") == "half open");
}

BOOST_AUTO_TEST_CASE(another_observer_hears_it_too)
{
    auto const next = std::make_shared<recorder>();
    recorder r(real_clock(), next);
    r.began(message());
    r.lease_lost(message());
    BOOST_TEST(sum(next->look().waited) == 1u);
    BOOST_TEST(next->look().troubles.size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
