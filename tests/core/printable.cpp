#include <quern/core/detail/printable.hpp>
#include <quern/core/error.hpp>

#include <boost/test/unit_test.hpp>

using quern::detail::printable;
using std::string;

BOOST_AUTO_TEST_SUITE(printables)

BOOST_AUTO_TEST_CASE(a_control_character_becomes_a_blank)
{
    BOOST_TEST(printable("plain") == "plain");
    BOOST_TEST(printable("\x1b[31mred\x07\r\n\tend\x7f") == " [31mred    end ");
    BOOST_TEST(printable(string("a\0b", 3)) == "a b");
    BOOST_TEST(printable("\xc2\x9b"
                         "31m and \xc2\x85") == " 31m and  ");
}

BOOST_AUTO_TEST_CASE(text_in_any_language_stays)
{
    string const text = "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80 \xc2\xa0|";
    BOOST_TEST(printable(text) == text);
}

// A terminal that reads single bytes takes 9b for the begin of a command.
BOOST_AUTO_TEST_CASE(a_byte_that_is_not_utf_8_becomes_a_question_mark)
{
    BOOST_TEST(printable("\x9b"
                         "31m") == "?31m");
    BOOST_TEST(printable("cut \xe2\x82") == "cut ??");
    for (string const wrong :
        {"\xc0\x9b", "\xe0\x80\x9b", "\xf0\x80\x82\x9b", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"})
        BOOST_TEST(printable(wrong) == string(wrong.size(), '?'));
}

// It reached the terminal: what a service writes can move the cursor there, and forge lines of a log.
BOOST_AUTO_TEST_CASE(a_failure_is_described_without_control_characters)
{
    quern::failure why(quern::errc::service_error, "no\n\x1b]0;title\x07");
    why.service_code = "Evil\x1b[2J";
    why.request_id = "r\r1";
    why.http_status = 400;
    BOOST_TEST(quern::describe(why) == "the service refused: Evil [2J, no  ]0;title  (HTTP 400, request r 1)");
}

BOOST_AUTO_TEST_SUITE_END()
