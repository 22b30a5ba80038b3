#include "service.hpp"

using namespace quern::test;
using boost::test_tools::per_element;

BOOST_AUTO_TEST_SUITE(dead_letters)

BOOST_AUTO_TEST_CASE(the_receive_after_the_last_allowed_one_moves_the_message)
{
    service s;
    auto const [source, dead] = s.create_pair("q", 2);
    s.send(source, "poison");
    s.send(source, "good");
    s.bodies(source, 1, 0);
    s.bodies(source, 1, 0);
    BOOST_TEST(s.counts(dead) == "0/0/0");
    BOOST_TEST(s.bodies(source, 1) == strings({"good"}), per_element()); // the receive goes on behind it
    BOOST_TEST(s.counts(source) == "0/0/1");
    BOOST_TEST(s.counts(dead) == "1/0/0");
}

BOOST_AUTO_TEST_CASE(id_attributes_counts_and_first_receive_are_kept)
{
    service s;
    auto const [source, dead] = s.create_pair("q", 1);
    sqs::send_message_request request(source, "m");
    request.attributes["a"] = {"Number", "1"};
    request.system_attributes["AWSTraceHeader"] = {"String", "Root=1"};
    auto const id = s.engine.send_message(request, s.now).value().message_id;
    s.pass(1s);
    s.receive(source, 1, 0);
    s.pass(1s);
    BOOST_TEST(s.receive(source).messages.empty());

    auto const got = s.receive(dead);
    BOOST_REQUIRE(got.messages.size() == 1u);
    auto const& m = got.messages[0];
    BOOST_TEST(m.id == id);
    BOOST_TEST(m.receive_count() == 2);
    BOOST_TEST(m.system("DeadLetterQueueSourceArn") == s.arn(source));
    BOOST_TEST(m.system("AWSTraceHeader") == "Root=1");
    BOOST_TEST(m.system("SentTimestamp") == "1700000000000");
    BOOST_TEST(m.system("ApproximateFirstReceiveTimestamp") == "1700000001000");
    BOOST_TEST(m.attribute("a")->value == "1");
}

BOOST_AUTO_TEST_CASE(a_handle_of_the_source_means_nothing_once_the_message_has_moved)
{
    service s;
    auto const [source, dead] = s.create_pair("q", 1);
    s.send(source, "m");
    auto const handle = s.handle(source, 0);
    s.receive(source);
    BOOST_TEST(s.remove(source, handle).has_value());
    BOOST_TEST(s.remove(dead, handle).error().service_code == "ReceiptHandleIsInvalid");
    BOOST_TEST(s.counts(dead) == "1/0/0");
}

BOOST_AUTO_TEST_CASE(a_chain_counts_the_receives_of_each_queue)
{
    service s;
    auto const [middle, last] = s.create_pair("middle", 2);
    auto const first = s.create(
        "first", {{"RedrivePolicy", R"({"deadLetterTargetArn":")" + s.arn(middle) + R"(","maxReceiveCount":"1"})"}});
    s.send(first, "m");
    BOOST_TEST(s.bodies(first, 1, 0).size() == 1u);
    BOOST_TEST(s.bodies(first, 1, 0).empty());
    BOOST_TEST(s.bodies(middle, 1, 0).size() == 1u);
    BOOST_TEST(s.bodies(middle, 1, 0).size() == 1u);
    BOOST_TEST(s.bodies(middle, 1, 0).empty());
    auto const got = s.receive(last);
    BOOST_REQUIRE(got.messages.size() == 1u);
    BOOST_TEST(got.messages[0].receive_count() == 4);
    BOOST_TEST(got.messages[0].system("DeadLetterQueueSourceArn") == s.arn(middle));
}

BOOST_AUTO_TEST_CASE(a_standard_message_keeps_its_age_and_a_fifo_message_begins_anew)
{
    service s;
    for (bool const fifo : {false, true}) {
        auto const [source, dead] = s.create_pair("q", 1, {}, fifo);
        s.set(dead, {{"MessageRetentionPeriod", "100"}}).value();
        if (fifo) {
            s.send(source, "m", "g", "my-id");
        } else {
            s.send(source, "m");
        }
        s.receive(source, 1, 0);
        s.pass(60s);
        s.receive(source);
        BOOST_TEST(s.counts(dead) == "1/0/0");
        s.pass(40s);
        BOOST_TEST(s.counts(dead) == (fifo ? "1/0/0" : "0/0/0"));
    }
}

BOOST_AUTO_TEST_CASE(an_older_message_expires_before_those_that_were_there)
{
    service s;
    auto const [source, dead] = s.create_pair("q", 1);
    s.set(dead, {{"MessageRetentionPeriod", "100"}}).value();
    s.send(source, "old");
    s.receive(source, 1, 0);
    s.pass(50s);
    s.send(dead, "young");
    s.receive(source);
    s.pass(50s);
    BOOST_TEST(s.bodies(dead) == strings({"young"}), per_element());
}

BOOST_AUTO_TEST_CASE(a_fifo_message_gets_its_id_as_deduplication_id_and_keeps_its_group)
{
    service s;
    auto const [source, dead] = s.create_pair("q", 1, {}, true);
    auto const id = s.send(source, "head", "g", "my-id");
    s.send(source, "next", "g");
    s.receive(source, 1, 0);
    BOOST_TEST(s.bodies(source) == strings({"next"}), per_element()); // the group goes on without its head
    auto const got = s.receive(dead);
    BOOST_REQUIRE(got.messages.size() == 1u);
    BOOST_TEST(got.messages[0].id == id);
    BOOST_TEST(got.messages[0].system("MessageDeduplicationId") == id);
    BOOST_TEST(got.messages[0].group_id() == "g");
}

BOOST_AUTO_TEST_CASE(without_its_dead_letter_queue_a_queue_keeps_delivering)
{
    service s;
    auto const [source, dead] = s.create_pair("q", 1);
    s.send(source, "m");
    s.receive(source, 1, 0);
    s.engine.delete_queue(sqs::delete_queue_request(dead), s.now).value();
    BOOST_TEST(s.bodies(source) == strings({"m"}), per_element());
}

BOOST_AUTO_TEST_CASE(policies_are_checked)
{
    service s;
    auto const url = s.create("q");
    auto const fifo = s.create_fifo("dead");
    auto const arn = s.arn(s.create("dead"));
    auto const set = [&](std::string policy) {
        auto const outcome = s.set(url, {{"RedrivePolicy", std::move(policy)}});
        return outcome ? "fine" : outcome.error().service_code;
    };
    auto const policy = [](std::string const& target, std::string const& count) {
        return R"({"deadLetterTargetArn":")" + target + R"(","maxReceiveCount":)" + count + '}';
    };
    for (auto const& bad : {std::string("{"), std::string("[]"), std::string(R"({"maxReceiveCount":"42"})"),
             R"({"deadLetterTargetArn":")" + arn + "\"}", policy(arn, "\"invalid\""), policy(arn, "0"),
             policy(arn, "1001"), policy(arn, "-1"), policy(arn, "1.5"), policy("dummy", "3"), policy(arn + "x", "3"),
             policy(s.arn(fifo), "3")}) {
        BOOST_TEST(set(bad) == "InvalidParameterValue", bad);
    }
    BOOST_TEST(set(policy(arn, "\"42\"")) == "fine");
    BOOST_TEST(s.attributes(url).at("RedrivePolicy") == policy(arn, "42"));
    BOOST_TEST(set("") == "fine");
    BOOST_TEST(!s.attributes(url).contains("RedrivePolicy"));
}

BOOST_AUTO_TEST_CASE(the_dead_letter_queue_says_who_may_use_it)
{
    service s;
    auto const dead = s.create("dead");
    auto const one = s.create("one");
    auto const two = s.create("two");
    auto const policy = R"({"deadLetterTargetArn":")" + s.arn(dead) + R"(","maxReceiveCount":3})";
    auto const allowed = [&](std::string const& url) { return s.set(url, {{"RedrivePolicy", policy}}).has_value(); };

    s.set(dead, {{"RedriveAllowPolicy", R"({"redrivePermission":"denyAll"})"}}).value();
    BOOST_TEST(!allowed(one));
    s.set(dead,
         {{"RedriveAllowPolicy", R"({"redrivePermission":"byQueue","sourceQueueArns":[")" + s.arn(two) + "\"]}"}})
        .value();
    BOOST_TEST(!allowed(one));
    BOOST_TEST(allowed(two));
    s.set(dead, {{"RedriveAllowPolicy", R"({"redrivePermission":"allowAll"})"}}).value();
    BOOST_TEST(allowed(one));

    for (auto const* bad : {"x", R"({"redrivePermission":"some"})", R"({"redrivePermission":"byQueue"})",
             R"({"redrivePermission":"denyAll","sourceQueueArns":["a"]})",
             R"({"redrivePermission":"byQueue","sourceQueueArns":[1]})", "{}"}) {
        BOOST_TEST(s.set(dead, {{"RedriveAllowPolicy", bad}}).error().service_code == "InvalidParameterValue", bad);
    }
}

BOOST_AUTO_TEST_CASE(the_sources_of_a_dead_letter_queue_are_listed)
{
    service s;
    auto const [b, dead] = s.create_pair("b", 3);
    auto const a = s.create("a", {{"RedrivePolicy", s.attributes(b).at("RedrivePolicy")}});
    s.create("other");
    sqs::list_dead_letter_source_queues_request request(dead);
    BOOST_TEST(s.engine.list_dead_letter_source_queues(request, s.now)->queue_urls == strings({a, b}), per_element());
    request.max_results = 1;
    auto const page = s.engine.list_dead_letter_source_queues(request, s.now).value();
    BOOST_TEST(page.queue_urls == strings({a}), per_element());
    request.next_token = page.next_token;
    auto const last = s.engine.list_dead_letter_source_queues(request, s.now).value();
    BOOST_TEST(last.queue_urls == strings({b}), per_element());
    BOOST_TEST(last.next_token.empty());
}

BOOST_AUTO_TEST_SUITE_END()
