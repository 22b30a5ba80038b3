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
        int receives;
    } const table[] = {
        {R"({"deadLetterTargetArn":"arn:aws:sqs:eu-west-1:1:dead","maxReceiveCount":3})",
            "arn:aws:sqs:eu-west-1:1:dead", 3},
        {R"({ "maxReceiveCount":"7", "deadLetterTargetArn" : "a:b" })", "a:b", 7},
        {"", "", 0},
    };
    BOOST_TEST(redrive_policy_in({})->dead_letter_arn == "");
    for (auto const& row : table) {
        auto const read = redrive_policy_in({{"RedrivePolicy", row.policy}}).value();
        BOOST_TEST(read.dead_letter_arn == row.arn);
        BOOST_TEST(read.max_receives == row.receives);
    }
}

// It was taken for none, and rejected messages were deleted though the queue has a dead-letter queue.
BOOST_AUTO_TEST_CASE(a_redrive_policy_that_cannot_be_read_is_an_error)
{
    for (auto const* policy : {
             R"({"maxReceiveCount":3})",
             R"({"deadLetterTargetArn":"a:b"})",
             R"({"deadLetterTargetArn":"a:b","maxReceiveCount":0})",
             R"({"deadLetterTargetArn":"a:b","maxReceiveCount":-5})",
             R"({"deadLetterTargetArn":"a:b","maxReceiveCount":"-5"})",
             R"({"deadLetterTargetArn":"a:b","maxReceiveCount":"3x"})",
             R"({"deadLetterTargetArn":"a:b","maxReceiveCount":"99999999999"})",
             R"({"deadLetterTargetArn":"a:b","maxReceiveCount":1000001})",
             R"({"deadLetterTargetArn":"","maxReceiveCount":3})",
             R"({"deadLetterTargetArn":5,"maxReceiveCount":3})",
             R"({"deadLetterTargetArn":)",
             R"({"deadLetterTargetArn":"a)",
             "[]",
             "null",
             "none",
         }) {
        auto const read = redrive_policy_in({{"RedrivePolicy", policy}});
        BOOST_TEST(!read.has_value(), policy);
        if (!read) BOOST_TEST((read.error().code == errc::bad_reply));
    }
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
