#include "redrive/yard.hpp"

#include <boost/system/system_error.hpp>

using namespace quern;
using namespace quern::test;

BOOST_FIXTURE_TEST_SUITE(redriver, yard)

BOOST_AUTO_TEST_CASE(every_message_goes_back_once_and_leaves_the_dead_letter_queue)
{
    kill(250);
    auto const got = run();
    BOOST_TEST(got.redriven == 250u);
    BOOST_TEST(got.deleted == 250u);
    BOOST_TEST(got.maybe_twice == 0u);
    BOOST_TEST(got.depth == 250u);
    BOOST_TEST(got.by_queue.at("orders") == 250u);
    BOOST_TEST(all(dead) == 0);
    auto const there = bodies(orders);
    BOOST_TEST(there.size() == 250u);
    for (auto const& [body, times] : there)
        BOOST_TEST(times == 1, body);
}

// A destination for all would send orders to the billing queue.
BOOST_AUTO_TEST_CASE(messages_of_several_sources_each_go_to_their_own)
{
    auto const billing = source("billing"), mail = source("mail");
    kill(orders, 7);
    kill(billing, 8);
    kill(mail, 9);
    auto const got = run();
    BOOST_TEST(got.redriven == 24u);
    BOOST_TEST(all(orders) == 7);
    BOOST_TEST(all(billing) == 8);
    BOOST_TEST(all(mail) == 9);
}

BOOST_AUTO_TEST_CASE(the_first_rule_that_holds_names_the_queue)
{
    auto const urgent = create("urgent"), legacy = create("legacy");
    options.targets = {{redrive::parse_where("attr.type = \"legacy\"").value(), legacy},
        {redrive::parse_where_body("/urgent = true").value(), urgent}};
    for (auto const* body : {"{\"urgent\":true}", "{\"urgent\":false}", "no JSON"})
        send(orders, letter(orders, body));
    auto both = letter(orders, "{\"urgent\":true,\"old\":1}");
    both.attributes["type"] = {"String", "legacy"};
    send(orders, both);
    fail_all(orders);
    auto const got = run();
    BOOST_TEST(got.redriven == 4u);
    BOOST_TEST(all(orders) == 2);
    BOOST_TEST(bodies(legacy).contains("{\"urgent\":true,\"old\":1}"));
    BOOST_TEST(bodies(urgent).contains("{\"urgent\":true}"));
    options.targets.front().url = dead;
    BOOST_TEST(options.validate()->message.starts_with("targets: one is the dead-letter queue itself"));
}

BOOST_AUTO_TEST_CASE(what_nobodys_policy_moved_goes_to_the_only_source_or_stays)
{
    send(dead, letter(dead, "by hand"));
    BOOST_TEST(run().redriven == 1u);
    BOOST_TEST(all(orders) == 1);

    source("billing");
    send(dead, letter(dead, "whose?"));
    start();
    auto const got = finish(1h, 2);
    BOOST_TEST(got.left == 1u);
    BOOST_TEST(got.left_messages.at(0).reason == "the queue that it came from is not known; say where to send it");
    BOOST_TEST(count(dead) == 1); // and visible
}

// The reason said that the queue was not known, and SQS had named it.
BOOST_AUTO_TEST_CASE(what_came_from_a_queue_whose_policy_is_gone_is_left_and_that_queue_named)
{
    auto const billing = source("billing");
    kill(billing, 1);
    sqs::set_queue_attributes_request none;
    none.queue_url = billing;
    none.attributes["RedrivePolicy"] = "";
    engine.set_queue_attributes(none, time.wall()).value();
    auto const got = run();
    BOOST_TEST(got.left == 1u);
    BOOST_TEST(got.left_messages.at(0).reason ==
        "it came from billing, of which this is not the dead-letter queue any more; say where to send it");
}

BOOST_AUTO_TEST_CASE(a_queue_that_is_nobodys_dead_letter_queue_needs_a_destination)
{
    options.dlq_url = poison;
    start();
    BOOST_REQUIRE(until(1min, [&] { return !refused.empty(); }));
    BOOST_TEST(refused.at(0).find("poison is the dead-letter queue of no queue") != std::string::npos);

    send(poison, letter(poison, "x"));
    refused.clear();
    drivers.clear();
    options.to_url = orders;
    BOOST_TEST(run().redriven == 1u);
}

// The search for the sources went on for ever.
BOOST_AUTO_TEST_CASE(a_list_of_sources_that_has_no_end_ends_the_run)
{
    kill(1);
    int pages = 0;
    api.page = [&](auto& one) { one.next_token = std::to_string(++pages % 3); };
    start();
    BOOST_REQUIRE(until(1min, [&] { return !refused.empty(); }));
    BOOST_TEST(refused.at(0).find("gave the same NextToken twice") != std::string::npos, refused.at(0));
    BOOST_TEST(pages == 4);
    BOOST_TEST(count(dead) == 1);
}

BOOST_AUTO_TEST_CASE(a_message_arrives_as_it_was_with_its_count_and_first_receive)
{
    sqs::send_message_request m(orders, "b\xC3\xA4 \t<&>");
    m.attributes = {
        {"n", {"Number", "-1.50"}}, {"b", {"Binary.png", std::string("\0\xFF", 2)}}, {"s", {"String.json", "{}"}}};
    m.system_attributes = {{"AWSTraceHeader", {"String", "Root=1-2-3"}}};
    m.group_id = "tenant";
    send(orders, m);
    fail_all(orders);
    auto const died_at = std::chrono::duration_cast<std::chrono::milliseconds>(time.wall().time_since_epoch());
    time.run_for(io, 1h);
    run();
    auto const there = take(orders);
    BOOST_REQUIRE(there.size() == 1u);
    auto got = there[0].attributes;
    BOOST_TEST(got.at("x-redrive-attempt").value == "1");
    auto const first = got.at("x-original-first-receive-timestamp").value;
    BOOST_TEST(first.size() == 24u);
    auto const again = redrive::parse_moment(first, time.wall()).value();
    BOOST_TEST(std::chrono::floor<std::chrono::seconds>(again.time_since_epoch()).count() ==
        std::chrono::floor<std::chrono::seconds>(died_at).count());
    got.erase("x-redrive-attempt");
    got.erase("x-original-first-receive-timestamp");
    BOOST_TEST(got.erase("QuernOriginalId") == 1u);
    BOOST_TEST(got == m.attributes);
    BOOST_TEST(there[0].body == m.body);
    BOOST_TEST(there[0].system.at("AWSTraceHeader") == "Root=1-2-3");
    BOOST_TEST(there[0].system.at("MessageGroupId") == "tenant");
}

BOOST_AUTO_TEST_CASE(the_delay_is_left_to_a_standard_queue)
{
    options.plan.delay_base = 60s;
    kill(5);
    BOOST_TEST(run(1min).redriven == 5u);
    BOOST_TEST(delayed(orders) == 5);
}

BOOST_AUTO_TEST_CASE(poison_is_isolated_with_its_reason)
{
    options.poison_url = poison;
    options.plan.max_attempts = 2;
    sqs::send_message_request m(orders, "bad");
    m.attributes["x-redrive-attempt"] = {"Number", "2"};
    send(orders, m);
    kill(3);
    auto const got = run();
    BOOST_TEST(got.redriven == 3u);
    BOOST_TEST(got.isolated == 1u);
    BOOST_TEST(got.deleted == 4u);
    auto const there = take(poison);
    BOOST_REQUIRE(there.size() == 1u);
    BOOST_TEST(there[0].attributes.at("QuernReason").value == "its attempts are used up (2 of 2)");
    BOOST_TEST(there[0].attributes.at("QuernSource").value == "orders");
    BOOST_TEST(all(dead) == 0);
}

BOOST_AUTO_TEST_CASE(without_a_poison_queue_poison_is_left_and_named)
{
    sqs::send_message_request m(orders, "bad");
    m.attributes["x-redrive-attempt"] = {"String", "many"};
    send(orders, m);
    kill(3);
    auto const got = run();
    BOOST_TEST(got.redriven == 3u);
    BOOST_TEST(got.left == 1u);
    BOOST_TEST(got.left_messages.size() == 1u);
    BOOST_TEST(count(dead) == 1);
}

BOOST_AUTO_TEST_CASE(what_is_not_chosen_stays_and_is_visible_at_the_end)
{
    for (int i = 0; i < 100; ++i) {
        auto m = letter(orders, "m" + std::to_string(i));
        m.attributes["type"] = {"String", i % 4 == 0 ? "legacy" : "new"};
        send(orders, m);
    }
    fail_all(orders);
    options.which.where.push_back(redrive::parse_where(R"(attr.type = "legacy")").value());
    auto const got = run();
    BOOST_TEST(got.redriven == 25u);
    BOOST_TEST(got.skipped == 75u);
    BOOST_TEST(count(dead) == 75);
    BOOST_TEST(all(orders) == 25);
    BOOST_TEST(got.elsewhere == 0u);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_read_is_chosen_by_no_condition_and_counted)
{
    for (auto const* body : {R"({"state":"open"})", R"({"state":"paid"})", "no JSON", "[1", R"({"other":1})"})
        send(orders, letter(orders, body));
    fail_all(orders);
    options.which.where.push_back(redrive::parse_where_body(R"(/state != "paid")").value());
    auto got = run();
    BOOST_TEST(got.redriven == 2u);
    BOOST_TEST(got.skipped == 3u);
    BOOST_TEST(got.unreadable == 2u);
    options.which.where = {redrive::parse_where_body(R"(/state = "paid")").value()};
    start();
    got = finish(1h, 2);
    BOOST_TEST(got.redriven == 1u);
    BOOST_TEST(got.unreadable == 2u);
    BOOST_TEST(count(dead) == 2);
}

BOOST_AUTO_TEST_CASE(a_limit_takes_so_many_and_gives_the_others_back)
{
    kill(100);
    options.speed.limit = 13;
    auto const got = run();
    BOOST_TEST(got.redriven == 13u);
    BOOST_TEST(all(orders) == 13);
    BOOST_TEST(count(dead) == 87);
}

BOOST_AUTO_TEST_CASE(a_dry_run_counts_and_moves_nothing)
{
    kill(40);
    options.dry_run = true;
    auto const got = run();
    BOOST_TEST(got.dry_run);
    BOOST_TEST(got.redriven == 40u);
    BOOST_TEST(got.by_queue.at("orders") == 40u);
    BOOST_TEST(got.deleted == 0u);
    BOOST_TEST(count(dead) == 40);
    BOOST_TEST(all(orders) == 0);
    BOOST_TEST(api.calls["SendMessageBatch"] == 0);
}

BOOST_AUTO_TEST_CASE(keeping_copies_and_deletes_nothing)
{
    kill(40);
    options.keep = true;
    auto const got = run();
    BOOST_TEST(got.redriven == 40u);
    BOOST_TEST(got.deleted == 0u);
    BOOST_TEST(count(dead) == 40);
    BOOST_TEST(all(orders) == 40);
}

BOOST_AUTO_TEST_CASE(the_rate_is_kept_however_many_there_are)
{
    kill(200);
    options.speed.rate = 10;
    auto const began = time.now();
    start();
    time.run_for(io, 10s);
    BOOST_TEST(all(orders) >= 95);
    BOOST_TEST(all(orders) <= 102);
    finish();
    BOOST_TEST(time.now() - began >= 19s);
    BOOST_TEST(time.now() - began <= 30s);
    BOOST_TEST(all(orders) == 200);
}

BOOST_AUTO_TEST_CASE(a_stop_drains_and_loses_nothing)
{
    kill(200);
    options.speed.rate = 10;
    auto& driver = start();
    time.run_for(io, 5s);
    driver.stop();
    auto const got = finish(1min);
    BOOST_TEST(got.redriven < 100u);
    BOOST_TEST(got.redriven == got.deleted);
    BOOST_TEST(all(orders) == static_cast<int>(got.redriven));
    BOOST_TEST(count(dead) == 200 - static_cast<int>(got.redriven));
}

BOOST_AUTO_TEST_CASE(two_at_once_share_the_work)
{
    kill(500);
    options.speed.rate = 50;
    start();
    start();
    finish(1h, 2);
    BOOST_TEST(reports[0].redriven + reports[1].redriven == 500u);
    BOOST_TEST(reports[0].redriven > 100u);
    BOOST_TEST(reports[1].redriven > 100u);
    BOOST_TEST(all(dead) == 0);
    auto const there = bodies(orders);
    BOOST_TEST(there.size() == 500u);
}

BOOST_AUTO_TEST_CASE(settings_that_cannot_work_are_refused_by_name)
{
    auto const complaint = [&](auto change) {
        auto other = options;
        change(other);
        auto const wrong = other.validate();
        return wrong ? wrong->message : std::string();
    };
    BOOST_TEST(complaint([](auto&) {}) == "");
    BOOST_TEST(complaint([](auto& o) { o.to_url = o.dlq_url; }) ==
        "to_url is the dead-letter queue itself: what is sent would come again");
    BOOST_TEST(complaint([](auto& o) { o.poison_url = o.dlq_url; }) ==
        "poison_url is the dead-letter queue itself: what is isolated would come again");
    BOOST_TEST(complaint([](auto& o) { o.concurrency = 0; }) == "concurrency must be 1 to 10,000");
    BOOST_TEST(complaint([](auto& o) { o.plan.isolate_all = ""; }) == "isolate_all: a reason must not be empty");
    BOOST_TEST(complaint([](auto& o) { o.plan.isolate_all = "x"; }) == "isolate_all needs a poison_url");
    options.concurrency = 0;
    BOOST_CHECK_THROW(redrive::redriver(io.get_executor(), api, options), boost::system::system_error);
    options.concurrency = 1;
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(redriver_fifo, fifo_yard)

BOOST_AUTO_TEST_CASE(each_group_arrives_in_its_order)
{
    kill(90);
    BOOST_TEST(run().redriven == 90u);
    std::map<std::string, std::vector<int>> groups;
    for (auto const& m : take(orders))
        groups[m.system.at("MessageGroupId")].push_back(std::stoi(m.body.substr(1)));
    BOOST_TEST(groups.size() == 3u);
    for (auto const& [group, numbers] : groups) {
        BOOST_TEST(numbers.size() == 30u);
        BOOST_TEST(std::ranges::is_sorted(numbers), group);
    }
}

BOOST_AUTO_TEST_CASE(a_delay_is_waited_out_once_before_the_group_goes)
{
    kill(30);
    options.plan.delay_base = 60s;
    start();
    time.run_for(io, 59s);
    BOOST_TEST(all(orders) == 0);
    auto const got = finish(90s);
    BOOST_TEST(got.redriven == 30u);
    BOOST_TEST(count(orders) > 0);
}

BOOST_AUTO_TEST_CASE(no_message_overtakes_one_of_its_group_that_stays)
{
    for (int i = 0; i < 30; ++i) {
        auto m = letter(orders, "m" + std::to_string(i));
        if (i == 6) m.attributes["odd"] = {"String", "yes"}; // the third of g0
        send(orders, m);
    }
    fail_all(orders);
    options.which.where.push_back(redrive::parse_where("attr.odd = null").value());
    auto const got = run();
    BOOST_TEST(got.redriven == 22u);
    BOOST_TEST(got.skipped == 1u);
    std::map<std::string, int> groups;
    for (auto const& m : take(orders))
        ++groups[m.system.at("MessageGroupId")];
    BOOST_TEST(groups["g0"] == 2);
    BOOST_TEST(groups["g1"] == 10);
    BOOST_TEST(groups["g2"] == 10);
    BOOST_TEST(all(dead) == 8);
}

BOOST_AUTO_TEST_CASE(one_group_can_be_chosen)
{
    kill(30);
    options.which.group = "g1";
    auto const got = run();
    BOOST_TEST(got.redriven == 10u);
    BOOST_TEST(all(orders) == 10);
    BOOST_TEST(all(dead) == 20);
    for (auto const& m : take(orders))
        BOOST_TEST(m.system.at("MessageGroupId") == "g1");
}

BOOST_AUTO_TEST_SUITE_END()
