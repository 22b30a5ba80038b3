// Queues that are referred to by name or by ARN.

#include "consumer/mill.hpp"

using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

struct named : mill {
    std::optional<result<drain_report>> end; // of run()

    /// Everything of it is used by one who knows no URL.
    void consume_by(std::string reference)
    {
        std::swap(url, reference);
        consume([](delivery& d) -> asio::awaitable<outcome> {
            co_return d.body() == "bad" ? reject("no order") : ack();
        });
        std::swap(url, reference);
        asio::co_spawn(io, it->run(), [this](std::exception_ptr e, result<drain_report> r) {
            BOOST_TEST(!e);
            end.emplace(std::move(r));
        });
    }

    std::string refused(std::string const& reference)
    {
        try {
            consumer(io.get_executor(), api, reference, fast, options);
        } catch (boost::system::system_error const& e) {
            BOOST_TEST(e.code() == make_error_code(errc::invalid_option));
            return e.what();
        }
        return {};
    }

    void send_bad()
    {
        sqs::send_message_request request(url, "bad");
        engine.send_message(std::move(request), time.wall()).value();
    }
};

std::string arn(std::string const& region, std::string const& name)
{
    return "arn:aws:sqs:" + region + ":000000000000:" + name;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(names, named)

BOOST_AUTO_TEST_CASE(a_queue_is_found_by_its_name_once)
{
    send(200);
    consume_by("orders");
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(it->counters().acked == 200u);
    BOOST_TEST(it->counters().failed_polls == 0u);
    BOOST_TEST(api.looked_for.size() <= 2u); // the first receive, and who asks for the redrive policy beside it
    BOOST_TEST(api.looked_for.front().queue_name == "orders");
    BOOST_TEST(!api.looked_for.front().owner_account_id.has_value());
}

BOOST_AUTO_TEST_CASE(an_arn_says_whose_queue_it_is)
{
    send(1);
    api.where = "us-east-1";
    consume_by(arn("us-east-1", "orders"));
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(api.looked_for.front().queue_name == "orders");
    BOOST_TEST(api.looked_for.front().owner_account_id.value() == "000000000000");
}

BOOST_AUTO_TEST_CASE(a_url_is_looked_for_by_nobody)
{
    send(1);
    consume_by(url);
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(api.looked_for.empty());
}

BOOST_AUTO_TEST_CASE(rejected_messages_go_where_a_name_says)
{
    auto const poison = engine.create_queue(sqs::create_queue_request("poison"), time.wall()).value().queue_url;
    for (std::string const name : {"poison", "arn:aws:sqs:us-east-1:000000000000:poison"}) {
        options.poison_queue = name;
        auto const before = in(poison);
        send_bad();
        consume_by("orders");
        BOOST_TEST(until(1min, [this] { return empty(); }));
        BOOST_TEST(in(poison) == before + 1);
        drained();
        report.reset();
    }
}

BOOST_AUTO_TEST_CASE(the_dead_letter_queue_is_a_neighbour_however_the_queue_was_named)
{
    auto const dead = allow_receives("5");
    for (auto const& name : {std::string("orders"), arn("us-east-1", "orders")}) {
        auto const before = in(dead);
        send_bad();
        consume_by(name);
        BOOST_TEST(until(1min, [this] { return empty(); }));
        BOOST_TEST(in(dead) == before + 1);
        drained();
        report.reset();
    }
    sqs::receive_message_request ask(dead);
    ask.attribute_names = {"All"};
    auto const got = engine.receive_message(ask, time.wall()).value().answer;
    BOOST_TEST(got.messages.at(0).attribute("QuernSource")->value == "orders");
}

BOOST_AUTO_TEST_CASE(a_look_up_that_fails_is_tried_again_as_a_receive_is)
{
    send(3);
    auto const from = time.now();
    api.on_look_up = [&] {
        auto const down = time.now() - from < 1min;
        return down ? std::optional<failure>(failure(errc::timed_out, "no answer", true)) : std::nullopt;
    };
    consume_by("orders");
    time.run_for(io, 1min);
    BOOST_TEST(api.receives == 0);
    BOOST_TEST(it->counters().failed_polls > 5u);
    BOOST_TEST(it->counters().failed_polls < 30u); // it pauses longer and longer
    BOOST_TEST(log_lines("receive failed: orders: ") > 0);
    BOOST_TEST(until(15s, [this] { return empty(); }));
}

BOOST_AUTO_TEST_CASE(a_name_that_no_queue_has_ends_as_a_queue_that_is_gone)
{
    options.give_up.after = 0ms;
    consume_by("odrers");
    BOOST_TEST(until(1min, [this] { return end.has_value(); }));
    BOOST_TEST(end->error().service_code == "AWS.SimpleQueueService.NonExistentQueue");
    BOOST_TEST(api.receives == 0);
    report.emplace();
}

BOOST_AUTO_TEST_CASE(no_receive_follows_a_look_up_that_outlasts_the_drain)
{
    send(1);
    api.before_look_up = [this] { return pause(1min); };
    consume_by("orders");
    time.run_for(io, 1s);
    drained(2s);
    time.run_for(io, 5min);
    BOOST_TEST(api.receives == 0);
    BOOST_TEST(visible() == 1);
}

BOOST_AUTO_TEST_CASE(a_queue_of_another_region_is_refused_at_once)
{
    api.where = "eu-central-1";
    auto const why = refused(arn("us-east-1", "orders"));
    BOOST_TEST(why.find("us-east-1") != why.npos);
    BOOST_TEST(why.find("eu-central-1") != why.npos);
    BOOST_TEST(refused("orders") == "");
    options.poison_queue = arn("us-east-1", "poison");
    BOOST_TEST(refused(url).find("us-east-1") != why.npos);
}

BOOST_AUTO_TEST_CASE(a_client_that_is_made_for_an_arn_takes_its_region)
{
    auto const makes = [this](std::string const& reference) {
        try {
            consumer(io.get_executor(), reference, fast, options);
        } catch (boost::system::system_error const& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    BOOST_TEST(makes(arn("eu-central-1", "orders")) == "");
    options.client.where.region = "us-east-1";
    auto const why = makes(arn("eu-central-1", "orders"));
    BOOST_TEST(why.find("us-east-1") != why.npos);
    BOOST_TEST(why.find("eu-central-1") != why.npos);
}

// As itself a name may be that of any queue so called.
BOOST_AUTO_TEST_CASE(a_poison_queue_that_may_be_the_queue_itself)
{
    for (auto const& [queue, poison] : {std::pair(url, std::string("orders")), std::pair(std::string("orders"), url),
             std::pair(std::string("orders"), std::string("orders"))}) {
        options.poison_queue = poison;
        BOOST_TEST(refused(queue).find("poison_queue") != std::string::npos);
    }
    options.poison_queue = "arn:aws:sqs:us-east-1:111111111111:orders";
    BOOST_TEST(refused(arn("us-east-1", "orders")) == ""); // another account's
}

BOOST_AUTO_TEST_SUITE_END()
