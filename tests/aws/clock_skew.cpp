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
    return why;
}

} // namespace

BOOST_AUTO_TEST_SUITE(clock_skew)

BOOST_AUTO_TEST_CASE(a_difference_of_four_minutes_is_corrected_either_way)
{
    for (auto const off : {-240s, 240s, 10'000'000s}) {
        aws::clock_skew skew;
        BOOST_TEST(skew.learn(refused("AccessDenied"), header, theirs + off));
        BOOST_TEST((skew.corrected(theirs + off) == theirs));
        BOOST_TEST(
            !skew.learn(refused("AccessDenied"), header, theirs + off)); // the corrected time is not wrong any more
    }
}

BOOST_AUTO_TEST_CASE(a_smaller_one_is_left_alone)
{
    aws::clock_skew skew;
    BOOST_TEST(!skew.learn(refused("AccessDenied"), header, theirs + 239s));
    BOOST_TEST((skew.corrected(theirs) == theirs));
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
    BOOST_TEST((skew.corrected(ours) == theirs));
    BOOST_TEST((skew.ours(theirs + 5h) == theirs + 5h));
    skew.learn(refused("RequestTimeTooSkewed"), header, ours);
    BOOST_TEST((skew.ours(theirs + 5h) == ours + 5h));
}

BOOST_AUTO_TEST_CASE(without_a_date_there_is_nothing_to_learn)
{
    aws::clock_skew skew;
    BOOST_TEST(!skew.learn(refused("RequestTimeTooSkewed"), "", theirs));
    BOOST_TEST(!skew.learn(refused("RequestTimeTooSkewed"), "soon", theirs));
}

BOOST_AUTO_TEST_SUITE_END()
