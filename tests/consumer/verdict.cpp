#include <quern/consumer/detail/conclude/given_back.hpp>
#include <quern/consumer/detail/conclude/verdict.hpp>

#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <string>

using namespace quern;
using namespace quern::detail;
using namespace std::chrono_literals;

namespace {

struct handling {
    consumer_options options;
    std::mt19937_64 random{1};
    circumstances its;

    handling()
    {
        its.now = wall_time(24h * 365);
        options.backoff = policy::backoff::fixed({5s, 60s});
    }

    verdict of(outcome const& said) { return verdict_of(said, its, options, random); }
    meaning of_thrown(std::exception_ptr e, bool overdue = false) const { return meaning_of(e, overdue, options); }
};

struct speechless : std::exception {
    char const* what() const noexcept override { return nullptr; }
};

template <class E>
std::exception_ptr thrown(E e)
{
    return std::make_exception_ptr(std::move(e));
}

using kind = verdict::kind;

} // namespace

BOOST_FIXTURE_TEST_SUITE(verdict_rule, handling)

BOOST_AUTO_TEST_CASE(each_outcome_has_its_verdict)
{
    BOOST_TEST(of(ack()).what == kind::remove);
    BOOST_TEST(of(reject("no")).what == kind::reject);
    BOOST_TEST(of(reject("no\n")).reason == "no?");
    BOOST_TEST(of(unavailable()).what == kind::postpone);
    BOOST_TEST(of(unavailable()).delay.count() == 5'000); // as a failure
    BOOST_TEST(of(release()).what == kind::postpone);
    BOOST_TEST(of(release()).delay.count() == 0);
    BOOST_TEST(of(retry_after(7s)).delay.count() == 7'000);
    BOOST_TEST(of(retry_after(-7s)).delay.count() == 0);
    BOOST_TEST(of(retry_at(its.now + 90s)).delay.count() == 90'000);
    BOOST_TEST(of(retry_at(its.now - 90s)).delay.count() == 0);
}

// Both were "an exception that is no std::exception", and tried again.
BOOST_AUTO_TEST_CASE(an_outcome_or_a_failure_that_is_thrown_says_what_it_says)
{
    auto const rejects = of_thrown(thrown(reject("no such order")));
    BOOST_TEST((rejects.said.what() == outcome::kind::reject));
    BOOST_TEST(rejects.said.reason() == "no such order");
    BOOST_TEST(!rejects.cause);
    BOOST_TEST((of_thrown(thrown(unavailable("payments"))).said.dependency() == "payments"));

    auto const fails = of_thrown(thrown(failure(errc::throttled, "too fast")));
    BOOST_TEST((fails.said.what() == outcome::kind::retry));
    BOOST_TEST(fails.text == describe(failure(errc::throttled, "too fast")));

    auto const late = of_thrown(thrown(ack()), true);
    BOOST_TEST((late.said.what() == outcome::kind::retry));
}

BOOST_AUTO_TEST_CASE(a_failure_is_put_off_by_its_receive_count)
{
    BOOST_TEST(of(retry()).delay.count() == 5'000);
    its.receive_count = 2;
    BOOST_TEST(of(retry()).delay.count() == 60'000);
}

BOOST_AUTO_TEST_CASE(those_behind_a_head_wait_here_for_a_short_pause_only)
{
    its.fifo = true;
    BOOST_TEST(of(retry()).waits_for_head);
    BOOST_TEST(!of(release()).waits_for_head);
    its.receive_count = 2;
    BOOST_TEST(!of(retry()).waits_for_head);
}

BOOST_AUTO_TEST_CASE(a_failed_head_goes_the_way_of_its_policy)
{
    options.poison_queue = "http://localhost/1/poison";
    for (bool const fifo : {false, true}) {
        its.fifo = fifo;
        options.fifo.on_failure = group_policy::skip_head;
        BOOST_TEST((of(retry()).what == kind::reject) == fifo);
        options.fifo.on_failure = group_policy::park_group;
        options.fifo.park_for = 1h;
        BOOST_TEST((of(retry()).delay == 1h) == fifo);
        options.fifo.on_failure = group_policy::halt;
        BOOST_TEST(of(retry()).halts == fifo);
    }
}

BOOST_AUTO_TEST_CASE(a_failure_may_bring_its_own_delay_and_fails_all_the_same)
{
    BOOST_TEST(of(retry().waiting(42s)).delay.count() == 42'000);
    BOOST_TEST(of(retry().waiting(0s)).delay.count() == 0);
    its.fifo = true;
    options.fifo.on_failure = group_policy::skip_head;
    BOOST_TEST(
        of(retry().waiting(42s).because("no stock")).reason == "failed at the head of its group; at last: no stock");
}

BOOST_AUTO_TEST_CASE(what_a_handler_found_goes_with_its_outcome)
{
    auto const said = unavailable("payments").because("HTTP 503", 503).telling(outcome::news::none);
    BOOST_TEST(said.found() == "HTTP 503");
    BOOST_TEST(said.status() == 503);
    BOOST_TEST(said.dependency().value() == "payments");
    BOOST_TEST(reject("no order").because("HTTP 422", 422).reason() == "no order");
    BOOST_TEST(retry().found().empty());
    auto const thrown = meaning_of(std::make_exception_ptr(handler_error("the command failed", 75)), false, options);
    BOOST_TEST(thrown.said.found() == "the command failed");
    BOOST_TEST(thrown.said.status() == 75);
}

BOOST_AUTO_TEST_CASE(what_is_too_old_is_rejected_and_the_last_try_falls_within_the_age)
{
    options.max_age = 1min;
    its.age = 58s;
    BOOST_TEST(of(retry()).delay.count() == 2'000);
    its.age = 2min;
    BOOST_TEST(of(retry()).what == kind::reject);
    BOOST_TEST(of(retry_after(1s)).what == kind::reject);
}

BOOST_AUTO_TEST_CASE(what_fails_in_its_last_try_is_rejected_and_nothing_else_is)
{
    auto const fails = [&](int tries, int receives, outcome const& said) {
        options.max_tries = tries;
        its.receive_count = receives;
        return of(said).what == kind::reject;
    };
    BOOST_TEST(fails(1, 1, retry()));
    BOOST_TEST(!fails(3, 2, retry()));
    BOOST_TEST(fails(3, 3, retry()));
    BOOST_TEST(fails(3, 3, retry_after(1s)));
    BOOST_TEST(fails(3, 90, retry())); // received in an outage, say
    BOOST_TEST(of(retry()).reason == "failed in receive 90, and max_tries is 3");
    BOOST_TEST(
        of(retry().because("HTTP 500", 500)).reason == "failed in receive 90, and max_tries is 3; at last: HTTP 500");
    for (auto const& said : {ack(), unavailable(), unavailable("payments"), release(), retry_at(its.now + 5min)})
        BOOST_TEST(!fails(3, 90, said));
    its.fifo = true;
    for (auto const policy : {group_policy::retry_head, group_policy::park_group, group_policy::halt}) {
        options.fifo.on_failure = policy;
        BOOST_TEST(fails(3, 3, retry()));
        BOOST_TEST(!of(retry()).halts);
    }
}

BOOST_AUTO_TEST_CASE(of_tries_and_age_the_first_that_is_reached_decides)
{
    options.max_tries = 3;
    options.max_age = 1min;
    its.age = 58s;
    BOOST_TEST(of(retry()).delay.count() == 2'000);
    its.age = 2min;
    BOOST_TEST(of(retry()).reason == "older than max_age");
    its.age = 1s;
    its.receive_count = 3;
    BOOST_TEST(of(retry()).what == kind::reject);
}

// They merely stood back, and no handler of theirs has failed.
// Ten messages made 60,000 runs and 12,000 requests a minute.
BOOST_AUTO_TEST_CASE(what_comes_again_and_goes_at_once_waits_a_second)
{
    for (auto const just : {false, true}) {
        its.was_just_back = just;
        auto const least = just ? 1'000 : 0;
        BOOST_TEST(of(release()).delay.count() == least);
        BOOST_TEST(of(retry_after(0s)).delay.count() == least);
        BOOST_TEST(of(retry_at(its.now - 1h)).delay.count() == least);
        BOOST_TEST(of(retry_after(7s)).delay.count() == 7'000);
    }
}

BOOST_AUTO_TEST_CASE(a_message_is_just_back_for_a_second_or_two)
{
    given_back rule;
    auto const t0 = tick() + 1h;
    BOOST_TEST(!rule.add(1, t0));
    BOOST_TEST(rule.add(1, t0 + 900ms));
    BOOST_TEST(!rule.add(2, t0 + 900ms));
    BOOST_TEST(rule.add(1, t0 + 1'500ms));
    BOOST_TEST(!rule.add(1, t0 + 4s));
}

BOOST_AUTO_TEST_CASE(age_does_not_touch_what_stands_back_or_is_released)
{
    options.max_age = 1min;
    its.age = 1h;
    BOOST_TEST(of(unavailable()).what == kind::postpone);
    BOOST_TEST(of(release()).what == kind::postpone);
    BOOST_TEST(of(ack()).what == kind::remove);
    BOOST_TEST(
        of(retry_at(its.now + 5min)).what == kind::postpone); // one put off to a time of the calendar was rejected
    BOOST_TEST((of(retry_at(its.now + 5min)).delay == 5min));
}

BOOST_AUTO_TEST_CASE(an_exception_is_a_retry_and_is_logged)
{
    auto const its_meaning = of_thrown(thrown(std::runtime_error("disk full")));
    BOOST_TEST(its_meaning.said.what() == outcome::kind::retry);
    BOOST_TEST(its_meaning.is_news);
    BOOST_TEST(its_meaning.text == "disk full");
    BOOST_TEST(its_meaning.cause == "handler failed");
    BOOST_TEST(of_thrown(thrown(42)).text == "an exception that is no std::exception");
    BOOST_TEST(of_thrown(thrown(speechless())).text == "an exception without a text");
    BOOST_TEST(of_thrown(thrown(42), true).text == "ran for longer than handler_timeout");
}

BOOST_AUTO_TEST_CASE(classify_has_the_first_word_but_not_about_time)
{
    options.classify = [](std::exception_ptr) { return std::optional(release()); };
    BOOST_TEST(of_thrown(thrown(42)).said.what() == outcome::kind::release);
    BOOST_TEST(of_thrown(thrown(42), true).said.what() == outcome::kind::retry);
    options.classify = [](std::exception_ptr) -> std::optional<outcome> { throw 1; };
    BOOST_TEST(of_thrown(thrown(42)).said.what() == outcome::kind::retry);
    BOOST_TEST(of_thrown(thrown(42)).cause == "classify");
}

// What a message says about itself is no news about what its handler depends on.
BOOST_AUTO_TEST_CASE(a_malformed_message_goes_by_its_policy_and_is_no_news)
{
    BOOST_TEST(of_thrown(thrown(parse_error("not JSON"))).malformed);
    for (auto const& [policy, what] : {std::pair{malformed_policy::retry, outcome::kind::retry},
             {malformed_policy::reject, outcome::kind::reject}, {malformed_policy::discard, outcome::kind::ack}}) {
        options.on_malformed = policy;
        auto const its_meaning = meaning_of_malformed("not JSON", "{\"a\":\n", options);
        BOOST_TEST(its_meaning.said.what() == what);
        BOOST_TEST(!its_meaning.is_news);
        BOOST_TEST(its_meaning.text == "not JSON");
    }
}

BOOST_AUTO_TEST_CASE(a_body_is_shown_only_where_that_is_asked_for)
{
    BOOST_TEST(meaning_of_malformed("not JSON", "secret", options).text == "not JSON");
    options.log_bodies = true;
    BOOST_TEST(meaning_of_malformed("not JSON", "{\"a\":\n", options).text == "not JSON; it begins: {\"a\":?");
}

BOOST_AUTO_TEST_SUITE_END()
