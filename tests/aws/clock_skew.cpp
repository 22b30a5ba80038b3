#include <quern/aws/clock_skew.hpp>

#include <boost/test/unit_test.hpp>

namespace aws = quern::aws;
using namespace std::chrono_literals;

namespace {

constexpr quern::wall_time theirs =
    std::chrono::sys_days(std::chrono::year(2015) / 8 / 30) + 12h + 36min; // what the header says
constexpr auto header = "Sun, 30 Aug 2015 12:36:00 GMT";

quern::failure refused(std::string code, std::string message = "")
{
    quern::failure why(quern::errc::service_error, std::move(message));
    why.service_code = std::move(code);
    why.http_status = 403;
    return why;
}

} // namespace

BOOST_AUTO_TEST_SUITE(clock_skew)

BOOST_AUTO_TEST_CASE(a_difference_of_four_minutes_is_corrected_either_way)
{
    for (auto const off : {-240s, 240s, 86'400s}) {
        aws::clock_skew skew;
        BOOST_TEST(skew.learn(refused("AccessDenied"), header, theirs + off));
        BOOST_TEST(skew.corrected(theirs + off) == theirs);
        BOOST_TEST(
            !skew.learn(refused("AccessDenied"), header, theirs + off)); // the corrected time is not wrong any more
    }
}

BOOST_AUTO_TEST_CASE(a_smaller_one_is_left_alone)
{
    aws::clock_skew skew;
    BOOST_TEST(!skew.learn(refused("AccessDenied"), header, theirs + 239s));
    BOOST_TEST(skew.corrected(theirs) == theirs);
}

// A batch that was stored and answered with a 500 was sent again at once, whatever max_attempts said.
BOOST_AUTO_TEST_CASE(what_may_have_been_carried_out_gets_no_second_chance_for_its_date)
{
    aws::clock_skew skew;
    auto const ours = theirs + 6min;
    for (int const status : {302, 408, 429, 500, 502, 503, 504}) { // most of them are said by gateways as well
        auto why = refused("InternalFailure");
        why.http_status = status;
        BOOST_TEST(!skew.learn(why, header, ours));
    }
    quern::failure slower(quern::errc::throttled, "slower", true);
    slower.http_status = 400;
    BOOST_TEST(!skew.learn(slower, header, ours));
    BOOST_TEST(skew.corrected(ours) == ours);
    BOOST_TEST(skew.learn(refused("AccessDenied"), header, ours));
}

BOOST_AUTO_TEST_CASE(a_service_that_blames_the_clock_is_believed)
{
    auto const believed = [](quern::failure const& why) {
        return aws::clock_skew().learn(why, header, theirs + 60s);
    };
    BOOST_TEST(believed(refused("RequestTimeTooSkewed")));
    BOOST_TEST(believed(refused("RequestExpired")));
    BOOST_TEST(believed(refused("InvalidSignatureException", "Signature expired: 2015…")));
    BOOST_TEST(believed(refused("SignatureDoesNotMatch", "Signature not yet current: 2015…")));
    BOOST_TEST(!believed(refused("SignatureDoesNotMatch", "The request signature we calculated does not match")));
    BOOST_TEST(!believed(refused("ThrottlingException", "Signature expired: no")));
}

BOOST_AUTO_TEST_CASE(only_a_clock_that_was_blamed_has_times_of_its_own)
{
    aws::clock_skew skew;
    auto const ours = theirs + 1h;
    skew.learn(refused("Busy"), header, ours);
    BOOST_TEST(skew.corrected(ours) == theirs);
    BOOST_TEST(skew.ours(theirs + 5h) == theirs + 5h);
    skew.learn(refused("RequestTimeTooSkewed"), header, ours);
    BOOST_TEST(skew.ours(theirs + 5h) == ours + 5h);
}

// An answer from 2038 had everything signed for 2038.
BOOST_AUTO_TEST_CASE(a_date_more_than_a_day_away_is_not_believed_and_the_error_says_so)
{
    aws::clock_skew skew;
    auto const ours = theirs - 24h - 1s;
    auto const why = refused("RequestTimeTooSkewed");
    BOOST_TEST(!skew.learn(why, header, ours));
    BOOST_TEST(skew.corrected(ours) == ours);
    BOOST_TEST(skew.doubt(why, header, ours).find("2015-08-30T12:36:00Z") != std::string::npos);
    BOOST_TEST(skew.doubt(why, header, ours + 1s) == "");
    BOOST_TEST(skew.doubt(refused("Busy"), header, ours) == "");
    BOOST_TEST(skew.doubt(why, "", ours) == "");
}

BOOST_AUTO_TEST_CASE(without_a_date_there_is_nothing_to_learn)
{
    aws::clock_skew skew;
    BOOST_TEST(!skew.learn(refused("RequestTimeTooSkewed"), "", theirs));
    BOOST_TEST(!skew.learn(refused("RequestTimeTooSkewed"), "soon", theirs));
}

BOOST_AUTO_TEST_SUITE_END()

namespace {

/// A service whose answers all say `header`, and our clock beside it.
struct answers {
    aws::service_clock clock;
    quern::tick now{};

    /// When our clock is `behind` the middle of the second that the header names.
    std::chrono::milliseconds read(std::chrono::milliseconds behind)
    {
        clock.look(header, theirs + 500ms - behind, now);
        return clock.offset();
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(service_clock, answers)

BOOST_AUTO_TEST_CASE(a_clock_within_a_second_of_the_services_is_right)
{
    for (auto const behind : {0ms, 1'000ms, -1'000ms})
        BOOST_TEST(read(behind).count() == 0);
    BOOST_TEST(read(1'001ms).count() == 1'001);
    BOOST_TEST(read(1'900ms).count() == 1'001); // no news
    BOOST_TEST(read(0ms).count() == 0);
}

BOOST_AUTO_TEST_CASE(the_last_answer_counts_up_to_a_difference_of_four_minutes)
{
    BOOST_TEST(read(-240s).count() == -240'000);
    BOOST_TEST(read(0s).count() == 0);
    BOOST_TEST(read(240s).count() == 240'000);
    BOOST_TEST(read(480s).count() == 480'000); // from there
}

BOOST_AUTO_TEST_CASE(a_larger_jump_counts_when_the_next_answer_says_the_same)
{
    BOOST_TEST(read(1h).count() == 0);
    BOOST_TEST(read(1h + 2s).count() == 3'602'000);
}

BOOST_AUTO_TEST_CASE(an_odd_answer_alone_changes_nothing)
{
    BOOST_TEST(read(1h).count() == 0);
    BOOST_TEST(read(3s).count() == 3'000);
    BOOST_TEST(read(1h).count() == 3'000);
    BOOST_TEST(read(2h).count() == 3'000); // two odd ones that differ
    BOOST_TEST(read(1h).count() == 3'000);
}

BOOST_AUTO_TEST_CASE(more_than_a_day_is_never_believed)
{
    BOOST_TEST(read(25h).count() == 0);
    BOOST_TEST(read(25h).count() == 0);
}

BOOST_AUTO_TEST_CASE(one_answer_a_minute_is_read_and_the_next_one_after_an_odd_one)
{
    auto const is_due_after = [this](std::chrono::seconds passed, std::chrono::milliseconds behind) {
        return clock.is_due(theirs + 500ms - behind + passed, now + passed);
    };
    BOOST_TEST(is_due_after(0s, 0s));
    read(0s);
    BOOST_TEST(!is_due_after(59s, 0s));
    BOOST_TEST(is_due_after(60s, 0s));
    read(1h);
    BOOST_TEST(is_due_after(0s, 1h));
    read(1h);
    BOOST_TEST(!is_due_after(0s, 1h));
    clock.look("", theirs, now + 60s);
    BOOST_TEST(!clock.is_due(theirs + 59s, now + 119s));
}

// For up to a minute claims stood by a clock that somebody had set.
BOOST_AUTO_TEST_CASE(the_first_answer_after_our_clock_was_set_is_read)
{
    read(0s);
    auto const wall = theirs + 500ms;
    BOOST_TEST(!clock.is_due(wall + 31s, now + 30s)); // a second more is none
    BOOST_TEST(clock.is_due(wall + 90s, now + 30s));
    BOOST_TEST(clock.is_due(wall - 1h, now + 30s));
    clock.look(header, wall + 90s, now + 30s);
    BOOST_TEST(!clock.is_due(wall + 119s, now + 59s));
}

BOOST_AUTO_TEST_SUITE_END()
