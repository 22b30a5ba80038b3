#include <quern/sqs/queue_attributes.hpp>

#include <boost/test/unit_test.hpp>

using namespace quern;
using namespace quern::sqs;

BOOST_AUTO_TEST_SUITE(queue_attributes)

BOOST_AUTO_TEST_CASE(a_redrive_policy_names_its_queue)
{
    struct {
        char const* policy;
        char const* arn;
    } const table[] = {
        {R"({"deadLetterTargetArn":"arn:aws:sqs:eu-west-1:1:dead","maxReceiveCount":3})",
            "arn:aws:sqs:eu-west-1:1:dead"},
        {R"({ "maxReceiveCount":"3", "deadLetterTargetArn" : "a:b" })", "a:b"},
        {R"({"maxReceiveCount":3})", ""},
        {R"({"deadLetterTargetArn":)", ""},
        {R"({"deadLetterTargetArn":"a)", ""},
        {"", ""},
    };
    BOOST_TEST(redrive_policy_in({}).dead_letter_arn == "");
    for (auto const& row : table)
        BOOST_TEST(redrive_policy_in({{"RedrivePolicy", row.policy}}).dead_letter_arn == row.arn);
}

BOOST_AUTO_TEST_CASE(a_depth_needs_all_three_numbers)
{
    string_map all{{"ApproximateNumberOfMessages", "3"}, {"ApproximateNumberOfMessagesNotVisible", "0"},
        {"ApproximateNumberOfMessagesDelayed", "5"}};
    BOOST_TEST(depth_in(all)->visible == 3);
    BOOST_TEST(depth_in(all)->delayed == 5);
    for (auto const& wrong : {"", "x", "-1", "3x", "99999999999999999999"}) {
        auto changed = all;
        changed["ApproximateNumberOfMessages"] = wrong;
        BOOST_TEST(!depth_in(changed).has_value(), wrong);
    }
    all.erase("ApproximateNumberOfMessagesDelayed");
    BOOST_TEST(!depth_in(all).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
