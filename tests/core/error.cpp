#include <quern/core/error.hpp>

#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

using namespace quern;

BOOST_AUTO_TEST_SUITE(error)

BOOST_AUTO_TEST_CASE(every_code_has_a_sentence_of_its_own)
{
    std::string seen;
    for (int value = 1; value <= static_cast<int>(errc::stopped); ++value) {
        auto const text = category().message(value);
        BOOST_TEST(text != "unknown error", value);
        BOOST_TEST(seen.find('|' + text + '|') == std::string::npos, text);
        seen += '|' + text + '|';
    }
    BOOST_TEST(category().message(static_cast<int>(errc::stopped) + 1) == "unknown error");
}

BOOST_AUTO_TEST_CASE(a_description_says_what_who_and_where)
{
    failure f(errc::throttled, "Rate exceeded", true);
    BOOST_TEST(describe(f) == "throttled: Rate exceeded");
    f.service_code = "RequestThrottled";
    f.http_status = 403;
    f.request_id = "r-1";
    BOOST_TEST(describe(f) == "throttled: RequestThrottled, Rate exceeded (HTTP 403, request r-1)");
}

BOOST_AUTO_TEST_CASE(asking_a_failed_result_for_its_value_throws_what_it_describes)
{
    result<int> const bad = failure(errc::timed_out, "no answer in 10 s");
    BOOST_CHECK_EXCEPTION(bad.value(), boost::system::system_error, [](auto const& e) {
        return e.code() == errc::timed_out && std::string(e.what()).find("no answer in 10 s") != std::string::npos;
    });
}

BOOST_AUTO_TEST_SUITE_END()
