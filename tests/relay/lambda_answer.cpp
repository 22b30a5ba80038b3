#include <quern/relay/lambda_answer.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

using namespace quern::relay;

namespace {

constexpr std::string_view ids[] = {"a", "b", "c"};

/// "+" handled, "f" failed, "e" error, "?" unreadable
std::string read(std::string_view body, bool in_order = false)
{
    std::string out;
    for (auto const what : read_lambda_answer(body, ids, in_order).messages)
        out += "+fe?"[static_cast<int>(what)];
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(relay_lambda_answer)

BOOST_AUTO_TEST_CASE(each_answer_has_its_meaning)
{
    struct {
        char const *body, *means;
    } const table[] = {
        {"", "+++"},
        {" \r\n", "+++"},
        {"null", "+++"},
        {"{}", "+++"},
        {R"({"ok":true})", "+++"},
        {R"({"batchItemFailures":null})", "+++"},
        {R"({"batchItemFailures":[]})", "+++"},
        {R"({"batchItemFailures":[{"itemIdentifier":"b"}]})", "+f+"},
        {R"({"batchItemFailures":[{"itemIdentifier":"b"},{"itemIdentifier":"b"},{"itemIdentifier":"c"}]})", "+ff"},
        {R"({"batchItemFailures":[{"itemIdentifier":"b"},{"itemIdentifier":"x"}]})", "???"},
        {R"({"batchItemFailures":[{"itemIdentifier":""}]})", "???"},
        {R"({"batchItemFailures":[{"itemIdentifier":null}]})", "???"},
        {R"({"batchItemFailures":[{"itemidentifier":"b"}]})", "???"},
        {R"({"batchItemFailures":["b"]})", "???"},
        {R"({"batchItemFailures":"b"})", "???"},
        {R"({"batchItemFailures":{}})", "???"},
        {R"({"errorMessage":"no","errorType":"ValueError"})", "eee"},
        {R"({"errorMessage":"no"})", "eee"},
        {R"({"errorType":"ValueError","batchItemFailures":[]})", "eee"},
        {R"({"batchItemFailures":[{"itemIdentifier":"b","n":1e400}],"wei":12345678901234567890123})", "+f+"},
        {"\xef\xbb\xbf{\"batchItemFailures\":[]}", "+++"},
        {"OK", "???"},
        {"\"OK\"", "???"},
        {"[]", "???"},
        {"true", "???"},
        {R"({"batchItemFailures":[)", "???"},
    };
    for (auto const& row : table)
        BOOST_TEST(read(row.body) == row.means, row.body);
}

BOOST_AUTO_TEST_CASE(what_follows_a_failure_in_order_has_failed_too)
{
    BOOST_TEST(read(R"({"batchItemFailures":[{"itemIdentifier":"b"}]})", true) == "+ff");
    BOOST_TEST(read(R"({"batchItemFailures":[]})", true) == "+++");
    BOOST_TEST(read(R"({"batchItemFailures":[{"itemIdentifier":"a"}]})", true) == "fff");
}

BOOST_AUTO_TEST_CASE(the_reason_is_told)
{
    BOOST_TEST(
        read_lambda_answer(R"({"errorMessage":"no","errorType":"ValueError"})", ids, false).error == "ValueError");
    BOOST_TEST(!read_lambda_answer("x", ids, false).error.empty());
}

BOOST_AUTO_TEST_SUITE_END()
