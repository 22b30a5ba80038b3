#include <quern/core/detail/text/date.hpp>

#include <boost/test/unit_test.hpp>

using namespace quern::detail;

using quern::wall_time;

namespace {

constexpr wall_time moment = std::chrono::sys_days(std::chrono::year(2015) / 8 / 30) + std::chrono::hours(12) +
    std::chrono::minutes(36) + std::chrono::seconds(7);

} // namespace

BOOST_AUTO_TEST_SUITE(date)

BOOST_AUTO_TEST_CASE(a_timestamp_drops_the_fraction_of_the_second)
{
    text::timestamp const text(moment + std::chrono::milliseconds(999));
    BOOST_TEST(text.text() == "20150830T123607Z");
    BOOST_TEST(text.day() == "20150830");
}

BOOST_AUTO_TEST_CASE(a_timestamp_reads_back)
{
    BOOST_TEST(text::parse_timestamp("20150830T123607Z") == moment);
    auto const leap_day = text::parse_timestamp("20240229T000000Z");
    BOOST_REQUIRE(leap_day.has_value());
    BOOST_TEST(text::timestamp(*leap_day).text() == "20240229T000000Z");
}

BOOST_AUTO_TEST_CASE(what_is_no_timestamp_is_refused)
{
    for (auto const* const text : {"", "20150830", "20150830T123607", "20150830T123607Zx", "20150830 123607Z",
             "20150830T12360xZ", "20151330T123607Z", "20150229T123607Z", "20150830T243607Z", "20150830T126007Z",
             "20150830T123661Z", "99991231T235959Z", "19691231T235959Z"}) {
        BOOST_TEST(!text::parse_timestamp(text), text);
    }
}

BOOST_AUTO_TEST_CASE(a_date_header_is_written)
{
    BOOST_TEST(text::http_date(moment) == "Sun, 30 Aug 2015 12:36:07 GMT");
    BOOST_TEST(text::http_date(moment + std::chrono::hours(24 * 122)) == "Wed, 30 Dec 2015 12:36:07 GMT");
}

BOOST_AUTO_TEST_CASE(a_date_header_is_read)
{
    BOOST_TEST(text::parse_http_date("Sun, 30 Aug 2015 12:36:07 GMT") == moment);
    for (auto const* const text : {"", "Sun", "Sunday, 30-Aug-15 12:36:07 GMT", "Sun Aug 30 12:36:07 2015",
             "Sun, 30 Foo 2015 12:36:07 GMT", "Sun, 30 Aug 2015 12:36:07", "Sun, 31 Feb 2015 12:36:07 GMT",
             "Sun, 30 Aug 2015 12:36:07 GMT+1", "Sun, 30 Aug 9999 12:36:07 GMT"}) {
        BOOST_TEST(!text::parse_http_date(text), text);
    }
}

BOOST_AUTO_TEST_CASE(a_time_of_rfc_3339_is_read_in_all_the_forms_that_are_met)
{
    auto const at = *text::parse_timestamp("20220502T183600Z");
    for (auto const* const text :
        {"2022-05-02T18:36:00Z", "2022-05-02T18:36:00UTC", "2022-05-02T18:36:00+00:00", "2022-05-02T18:36:00.123Z",
            "2022-05-02T20:06:00+01:30", "2022-05-02T14:36:00.5-04:00", "2022-05-02T18:36:00+0000",
            "2022-05-02T18:36:00z", "2022-05-02 18:36:00Z", "20220502T183600Z", "2022-05-02t20:06:00+0130",
            "2022-05-02T18:36:00+00", "2022-05-02T14:36:00,25-04", "2022-05-02 18:36:00GMT"}) {
        auto const read = text::parse_rfc3339(text);
        BOOST_TEST_REQUIRE(read.has_value(), text);
        BOOST_TEST(*read == at, text);
    }
    BOOST_TEST(text::rfc3339(at) == "2022-05-02T18:36:00Z");
    for (auto const* const never : {"2201-01-01T00:00:00Z", "2204-02-29T00:00:00Z", "9999-12-31T23:59:59Z",
             "2200-12-31T23:59:59-00:01", "4042-02-02T03:04:05-05:30"})
        BOOST_TEST(text::parse_rfc3339(never) == text::last_moment, never);
    BOOST_TEST(text::rfc3339(text::last_moment) == "2200-12-31T23:59:59Z");
    for (auto const* const text : {"", "2022-05-02", "2022-05-02T18:36:00", "2022-05-02T18:36:00X",
             "2022-0502T18:36:00Z", "2022-13-02T18:36:00Z", "2022-05-02T18:36:00.Z", "2022-05-02T18:36:00.1",
             "2022-05-02T18:36:00,Z", "2022-05-02T18:36:00+00:", "2022-05-02T18:36:00+", "2022-05-02T18:36:00+24:00",
             "9999-13-31T23:59:59Z", "2022-05-02T18:36:00+00:00Z", "2022-05-02T18:36:00Zx"}) {
        BOOST_TEST(!text::parse_rfc3339(text), text);
    }
}

BOOST_AUTO_TEST_SUITE_END()
