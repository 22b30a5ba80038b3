#include "service.hpp"

#include <set>

using namespace quern::test;
using boost::test_tools::per_element;

BOOST_AUTO_TEST_SUITE(standard_queue)

BOOST_AUTO_TEST_CASE(a_message_is_received_with_what_was_sent)
{
    service s;
    auto const url = s.create("orders");
    sqs::send_message_request request(url, "hello");
    request.attributes["color"] = {"String", "blue"};
    request.system_attributes["AWSTraceHeader"] = {"String", "Root=1"};
    auto const sent = s.engine.send_message(request, s.now);
    BOOST_REQUIRE(sent);
    s.pass(2s);

    auto const got = s.receive(url);
    BOOST_REQUIRE(got.messages.size() == 1u);
    auto const& m = got.messages[0];
    BOOST_TEST(m.body == "hello");
    BOOST_TEST(m.id == sent->message_id);
    BOOST_TEST(m.md5_of_body == "5d41402abc4b2a76b9719d911017c592");
    BOOST_TEST(m.md5_of_attributes == sent->md5_of_attributes);
    BOOST_REQUIRE(m.attribute("color"));
    BOOST_TEST(m.attribute("color")->value == "blue");
    BOOST_TEST(m.system("AWSTraceHeader") == "Root=1");
    BOOST_TEST(m.system("SenderId") == s.engine.options().sender_id);
    BOOST_TEST(m.system("SentTimestamp") == "1700000000000");
    BOOST_TEST(m.system("ApproximateFirstReceiveTimestamp") == "1700000002000");
    BOOST_TEST(m.receive_count() == 1);
    BOOST_TEST(m.group_id().empty());
}

BOOST_AUTO_TEST_CASE(views_of_an_answer_outlive_the_message_and_the_engine)
{
    auto s = std::make_unique<service>();
    auto const url = s->create("q");
    s->send(url, "body");
    auto const got = s->receive(url);
    s->remove(url, got.messages[0].receipt_handle).value();
    s.reset();
    BOOST_TEST(got.messages[0].body == "body");
    BOOST_TEST(got.messages[0].receive_count() == 1);
}

BOOST_AUTO_TEST_CASE(messages_come_in_the_order_of_sending_and_those_that_return_take_their_place)
{
    service s;
    auto const url = s.create("q");
    for (auto const* body : {"a", "b", "c"})
        s.send(url, body);
    BOOST_TEST(s.bodies(url, 1, 5) == strings({"a"}), per_element());
    s.pass(5s);
    BOOST_TEST(s.bodies(url) == strings({"a", "b", "c"}), per_element());
}

BOOST_AUTO_TEST_CASE(the_third_receive_moves_a_message_to_the_back)
{
    service s;
    auto const url = s.create("q");
    s.send(url, "first");
    s.send(url, "second");
    BOOST_TEST(s.bodies(url, 1, 0) == strings({"first"}), per_element());
    BOOST_TEST(s.bodies(url, 1, 0) == strings({"first"}), per_element());
    BOOST_TEST(s.bodies(url, 1, 0) == strings({"first"}), per_element());
    BOOST_TEST(s.bodies(url) == strings({"second", "first"}), per_element());
}

BOOST_AUTO_TEST_CASE(a_receive_takes_no_more_than_it_asked_for)
{
    service s;
    auto const url = s.create("q");
    for (int i = 0; i != 12; ++i)
        s.send(url, "m" + std::to_string(i));
    BOOST_TEST(s.receive(url, 3).messages.size() == 3u);
    BOOST_TEST(s.receive(url, 10).messages.size() == 9u);
    BOOST_TEST(s.receive(url, 10).messages.empty());
}

BOOST_AUTO_TEST_CASE(a_delayed_message_appears_when_its_delay_ends)
{
    service s;
    auto const url = s.create("q", {{"DelaySeconds", "10"}});
    s.send(url, "queue's delay");
    sqs::send_message_request at_once(url, "no delay");
    at_once.delay = 0s;
    BOOST_TEST(s.engine.send_message(at_once, s.now).has_value());
    s.send(url, "own delay", 3);
    BOOST_TEST(s.counts(url) == "1/2/0");

    BOOST_TEST(s.bodies(url) == strings({"no delay"}), per_element());
    s.pass(3s);
    BOOST_TEST(s.bodies(url) == strings({"own delay"}), per_element());
    s.pass(6999ms);
    BOOST_TEST(s.bodies(url).empty());
    s.pass(1ms);
    BOOST_TEST(s.bodies(url) == strings({"queue's delay"}), per_element());
}

BOOST_AUTO_TEST_CASE(a_changed_delay_leaves_the_messages_of_a_standard_queue_alone)
{
    service s;
    auto const url = s.create("q", {{"DelaySeconds", "10"}});
    s.send(url, "m");
    BOOST_TEST(s.set(url, {{"DelaySeconds", "900"}}).has_value());
    s.pass(10s);
    BOOST_TEST(s.bodies(url) == strings({"m"}), per_element());
}

BOOST_AUTO_TEST_CASE(counts_follow_every_change_of_state)
{
    service s;
    auto const url = s.create("q");
    for (auto const* body : {"a", "b", "c"})
        s.send(url, body);
    s.send(url, "later", 5);
    BOOST_TEST(s.counts(url) == "3/1/0");
    auto const got = s.receive(url, 2);
    BOOST_TEST(s.counts(url) == "1/1/2");
    s.remove(url, got.messages[0].receipt_handle).value();
    BOOST_TEST(s.counts(url) == "1/1/1");
    s.change(url, got.messages[1].receipt_handle, 0).value();
    BOOST_TEST(s.counts(url) == "2/1/0");
    s.pass(5s);
    BOOST_TEST(s.counts(url) == "3/0/0");
}

BOOST_AUTO_TEST_CASE(messages_expire_after_the_retention_period_in_any_state)
{
    service s;
    auto const url = s.create("q", {{"MessageRetentionPeriod", "60"}});
    s.send(url, "in flight");
    s.receive(url, 1, 3600);
    s.send(url, "visible");
    s.send(url, "delayed", 900);
    s.pass(30s);
    s.send(url, "younger");
    s.pass(29s);
    BOOST_TEST(s.counts(url) == "2/1/1");
    s.pass(1s);
    BOOST_TEST(s.counts(url) == "1/0/0");
    s.pass(30s);
    BOOST_TEST(s.counts(url) == "0/0/0");
    BOOST_TEST(!s.engine.next_event().has_value());
}

BOOST_AUTO_TEST_CASE(a_changed_retention_period_counts_for_messages_that_are_there)
{
    service s;
    auto const url = s.create("q");
    s.send(url, "m");
    s.pass(61s);
    BOOST_TEST(s.set(url, {{"MessageRetentionPeriod", "60"}}).has_value());
    s.pass(0s);
    BOOST_TEST(s.counts(url) == "0/0/0");
}

BOOST_AUTO_TEST_CASE(at_the_limit_in_flight_a_short_poll_is_refused_and_a_long_poll_waits)
{
    service s(broker::engine_options{.max_in_flight = 3});
    auto const url = s.create("q");
    for (int i = 0; i != 5; ++i)
        s.send(url, std::to_string(i));
    auto const got = s.receive(url);
    BOOST_TEST(got.messages.size() == 3u);

    auto const refused = s.try_receive(sqs::receive_message_request(url));
    BOOST_REQUIRE(!refused);
    BOOST_TEST(refused.error().service_code == "OverLimit");
    BOOST_TEST(refused.error().http_status == 403);

    auto const id = s.poll(url);
    BOOST_TEST(!s.engine.take_ready().has_value());
    s.remove(url, got.messages[0].receipt_handle).value();
    auto const ready = s.engine.take_ready();
    BOOST_REQUIRE(ready.has_value());
    BOOST_TEST(ready->id == id);
    BOOST_TEST(service::bodies_of(ready->answer.value()) == strings({"3"}), per_element());
}

BOOST_AUTO_TEST_CASE(quiet_tenants_come_before_a_noisy_one)
{
    service s;
    auto const url = s.create("q");
    auto const send_for = [&](std::string tenant, std::string body) {
        sqs::send_message_request request(url, std::move(body));
        request.group_id = std::move(tenant);
        BOOST_TEST(s.engine.send_message(request, s.now).has_value());
    };
    for (int i = 0; i != 40; ++i)
        send_for("noisy", "n");
    for (int i = 0; i != 3; ++i)
        s.receive(url);
    send_for("quiet", "q");
    s.send(url, "without a tenant");
    BOOST_TEST(s.bodies(url, 3) == strings({"q", "without a tenant", "n"}), per_element());
}

BOOST_AUTO_TEST_CASE(ids_and_receipts_are_distinct_and_the_same_for_the_same_seed)
{
    auto const run = [](std::optional<std::uint64_t> seed) {
        service s(broker::engine_options{.seed = seed});
        auto const url = s.create("q");
        std::vector<std::string> seen;
        for (int i = 0; i != 20; ++i)
            seen.push_back(s.send(url, "m"));
        for (int i = 0; i != 2; ++i) {
            for (auto const& m : s.receive(url).messages)
                seen.emplace_back(m.receipt_handle);
        }
        return seen;
    };
    auto const once = run(7);
    BOOST_TEST(std::set<std::string>(once.begin(), once.end()).size() == 40u);
    BOOST_TEST(once == run(7), per_element());
    BOOST_TEST(once.front() != run(8).front());
    BOOST_TEST(run({}).front() != run({}).front()); // the system's seed
    BOOST_TEST(once.front().size() == 36u);
    BOOST_TEST(once.front()[14] == '4');
}

BOOST_AUTO_TEST_SUITE_END()
