#include "service.hpp"

#include <quern/broker/detail/settings.hpp>

using namespace quern::test;
using quern::broker::detail::apply;
using quern::broker::detail::queue_settings;

namespace {

/// "" when the attribute is taken, else the code.
std::string refused(std::string const& name, std::string const& value, bool fifo = false)
{
    queue_settings settings;
    settings.fifo = fifo;
    auto const bad = apply(settings, {{name, value}});
    return bad ? bad->service_code : "";
}

} // namespace

BOOST_AUTO_TEST_SUITE(settings)

BOOST_AUTO_TEST_CASE(numbers_are_taken_within_their_ranges)
{
    struct {
        char const* name;
        int least;
        int most;
    } const ranges[] = {{"DelaySeconds", 0, 900}, {"MaximumMessageSize", 1024, 1'048'576},
        {"MessageRetentionPeriod", 60, 1'209'600}, {"ReceiveMessageWaitTimeSeconds", 0, 20},
        {"VisibilityTimeout", 0, 43'200}, {"KmsDataKeyReusePeriodSeconds", 60, 86'400}};
    for (auto const& [name, least, most] : ranges) {
        BOOST_TEST(refused(name, std::to_string(least)) == "", name);
        BOOST_TEST(refused(name, std::to_string(most)) == "", name);
        for (auto const& bad : {std::to_string(least - 1), std::to_string(most + 1), std::string("x"),
                 std::string(""), std::to_string(least) + 's', std::string("99999999999999999999")}) {
            BOOST_TEST(refused(name, bad) == "InvalidAttributeValue", name << " " << bad);
        }
    }
}

BOOST_AUTO_TEST_CASE(values_are_shown_as_they_were_set)
{
    service s;
    sqs::string_map const given{{"DelaySeconds", "1"}, {"MaximumMessageSize", "1024"},
        {"MessageRetentionPeriod", "60"}, {"ReceiveMessageWaitTimeSeconds", "2"}, {"VisibilityTimeout", "3"},
        {"ContentBasedDeduplication", "true"}, {"DeduplicationScope", "messageGroup"},
        {"FifoThroughputLimit", "perMessageGroupId"}, {"Policy", R"({"Statement":[]})"}};
    auto const url = s.create_fifo("q", given);
    auto const shown = s.attributes(url);
    for (auto const& [name, value] : given)
        BOOST_TEST(shown.at(name) == value, name);
    BOOST_TEST(shown.at("FifoQueue") == "true");
    BOOST_TEST(shown.at("CreatedTimestamp") == "1700000000");
    s.pass(5s);
    s.set(url, {{"Policy", ""}}).value();
    BOOST_TEST(!s.attributes(url).contains("Policy"));
    BOOST_TEST(s.attributes(url).at("LastModifiedTimestamp") == "1700000005");
    BOOST_TEST(s.attributes(url).at("CreatedTimestamp") == "1700000000");
}

BOOST_AUTO_TEST_CASE(only_what_was_asked_for_is_shown)
{
    service s;
    auto const url = s.create("q");
    auto const some = s.attributes(url, {"QueueArn", "VisibilityTimeout", "Policy", "FifoQueue"});
    BOOST_TEST(some == (sqs::string_map{{"QueueArn", s.arn(url)}, {"VisibilityTimeout", "30"}}));
    BOOST_TEST(s.attributes(url, {}).empty());
    sqs::get_queue_attributes_request request(url);
    request.attribute_names = {"Foobar"};
    BOOST_TEST(
        why(s.engine.get_queue_attributes(request, s.now)) == "InvalidAttributeName: Unknown Attribute Foobar.");
}

BOOST_AUTO_TEST_CASE(names_are_allowed_by_type_of_queue)
{
    for (auto const* name :
        {"QueueArn", "CreatedTimestamp", "ApproximateNumberOfMessages", "All", "visibilitytimeout"}) {
        BOOST_TEST(refused(name, "1") == "InvalidAttributeName", name);
        BOOST_TEST(refused(name, "1", true) == "InvalidAttributeName", name);
    }
    for (auto const* name : {"FifoQueue", "ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit"}) {
        BOOST_TEST(refused(name, "true") == "InvalidAttributeName", name);
    }
    BOOST_TEST(refused("FifoQueue", "true", true) == "");
    BOOST_TEST(refused("FifoQueue", "false", true) == "InvalidAttributeValue");
    BOOST_TEST(refused("ContentBasedDeduplication", "maybe", true) == "InvalidAttributeValue");
    BOOST_TEST(refused("DeduplicationScope", "group", true) == "InvalidAttributeValue");
    BOOST_TEST(refused("Policy", "not json") == "InvalidAttributeValue");
    auto const policy_of = [](std::size_t size) { return R"({"Id":")" + std::string(size - 9, 'x') + "\"}"; };
    BOOST_TEST(refused("Policy", policy_of(8192)) == "");
    BOOST_TEST(refused("Policy", policy_of(8193)) == "InvalidAttributeValue");
}

BOOST_AUTO_TEST_CASE(booleans_are_taken_in_letters_of_either_case)
{
    service s;
    for (auto const* yes : {"true", "True", "TRUE", "tRuE"}) {
        BOOST_TEST(refused("SqsManagedSseEnabled", yes) == "", yes);
        BOOST_TEST(refused("FifoQueue", yes, true) == "", yes);
        auto const url =
            s.create(yes + std::string(".fifo"), {{"FifoQueue", yes}, {"ContentBasedDeduplication", yes}});
        BOOST_TEST(s.attributes(url).at("FifoQueue") == "true");
        BOOST_TEST(s.create(yes + std::string(".fifo"), {{"FifoQueue", "true"}}) == url);
    }
    BOOST_TEST(refused("FifoQueue", "False", true) == "InvalidAttributeValue");
    for (auto const* neither : {"", "yes", "1", "true "})
        BOOST_TEST(refused("SqsManagedSseEnabled", neither) == "InvalidAttributeValue", neither);
}

BOOST_AUTO_TEST_CASE(the_reuse_of_a_data_key_is_shown_beside_the_key)
{
    queue_settings s;
    using quern::broker::detail::text_of;
    BOOST_TEST(!text_of(s, "KmsDataKeyReusePeriodSeconds").has_value());
    BOOST_TEST(!apply(s, {{"KmsMasterKeyId", "key"}}));
    BOOST_TEST(text_of(s, "KmsDataKeyReusePeriodSeconds").value_or("none") == "300");
}

BOOST_AUTO_TEST_CASE(throughput_per_group_needs_deduplication_per_group)
{
    queue_settings s;
    s.fifo = true;
    BOOST_TEST(apply(s, {{"FifoThroughputLimit", "perMessageGroupId"}})->service_code == "InvalidAttributeValue");
    BOOST_TEST(!s.throughput_per_group);
    BOOST_TEST(!apply(s, {{"FifoThroughputLimit", "perMessageGroupId"}, {"DeduplicationScope", "messageGroup"}}));
    BOOST_TEST(apply(s, {{"DeduplicationScope", "queue"}})->service_code == "InvalidAttributeValue");
    BOOST_TEST(!apply(s, {{"FifoThroughputLimit", "perQueue"}, {"DeduplicationScope", "queue"}}));
}

BOOST_AUTO_TEST_CASE(one_kind_of_encryption_at_a_time)
{
    queue_settings s;
    BOOST_TEST(s.managed_sse);
    BOOST_TEST(apply(s, {{"KmsMasterKeyId", "key"}, {"SqsManagedSseEnabled", "true"}})->service_code ==
        "InvalidAttributeName");
    BOOST_TEST(!apply(s, {{"KmsMasterKeyId", "key"}}));
    BOOST_TEST(!s.managed_sse);
    BOOST_TEST(!apply(s, {{"SqsManagedSseEnabled", "true"}}));
    BOOST_TEST(s.kms_key.empty());
}

BOOST_AUTO_TEST_CASE(one_bad_attribute_leaves_all_as_they_were)
{
    service s;
    auto const url = s.create("q");
    auto const before = s.attributes(url);
    BOOST_TEST(!s.set(url, {{"DelaySeconds", "5"}, {"VisibilityTimeout", "x"}}));
    BOOST_TEST(s.attributes(url) == before);
    BOOST_TEST(s.set(url, {}).error().service_code == "MissingParameter");
}

BOOST_AUTO_TEST_SUITE_END()
