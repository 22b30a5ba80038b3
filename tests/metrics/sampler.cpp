#include "consumer/mill.hpp"

#include <quern/metrics/sampler.hpp>
#include <quern/sqs/forwarding_api.hpp>

using namespace quern;
using namespace quern::test;
using telemetry::id;
using telemetry::part;

namespace {

/// Asks through the mill's api, whose hooks can fail it.
struct sampled_mill : mill {
    metrics::collection all{"", time};
    std::shared_ptr<metrics::consumer_metrics> its = all.consumer(url);
    std::optional<metrics::sampler> sampler;
    bool ended = false;

    void begin(metrics::sampler_options how = {}) { begin(*local, std::move(how)); }
    void begin(sqs::api& asks, metrics::sampler_options how = {})
    {
        consume(fast);
        how.time = &time;
        how.log = [this](log_level, std::string_view text) { log.emplace_back(text); };
        sampler.emplace(io.get_executor(), asks, all, how);
        sampler->add(*it, url, its);
        asio::co_spawn(io, sampler->run(), [this](std::exception_ptr e) {
            BOOST_TEST(!e);
            ended = true;
        });
    }
    void end()
    {
        sampler->end();
        until(1s, [this] { return ended; });
        BOOST_TEST(ended);
    }
    std::optional<double> gauge(part of, id which, std::size_t series = 0) const
    {
        for (auto const& r : all.snapshot().sources)
            if (r.of == of) return r.gauge(which, series);
        return {};
    }
};

/// SQS, but for one attribute of its queues.
struct odd_api : sqs::forwarding_api<odd_api> {
    explicit odd_api(sqs::api& a) : to(a) {}
    template <class Request>
    sqs::answer<typename Request::response> carry(Request r)
    {
        return sqs::perform(to, std::move(r));
    }
    sqs::answer<sqs::get_queue_attributes_request::response> carry(sqs::get_queue_attributes_request r)
    {
        auto got = co_await sqs::perform(to, std::move(r));
        got.value().attributes[member] = "none";
        co_return got;
    }
    sqs::api& to;
    std::string member;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(sampling, sampled_mill)

BOOST_AUTO_TEST_CASE(it_tells_how_full_a_queue_and_its_dead_letter_queue_are)
{
    auto const dead = allow_receives("3");
    for (int i = 0; i < 2; ++i)
        engine.send_message(sqs::send_message_request(dead, "late"), time.wall()).value();
    sqs::send_message_request later(url, "later");
    later.delay = 600s;
    engine.send_message(std::move(later), time.wall()).value();
    begin();
    BOOST_REQUIRE(until(1s, [this] { return gauge(part::dead_letters, id::dead_letter_messages).has_value(); }));
    BOOST_TEST(gauge(part::queue, id::queue_messages, 2).value() == 1.0);
    BOOST_TEST(gauge(part::dead_letters, id::dead_letter_messages).value() == 2.0);
    engine.send_message(sqs::send_message_request(dead, "later"), time.wall()).value();
    time.run_for(io, 59s);
    BOOST_TEST(gauge(part::dead_letters, id::dead_letter_messages).value() == 2.0); // asks once a minute
    time.run_for(io, 6s);
    BOOST_TEST(gauge(part::dead_letters, id::dead_letter_messages).value() == 3.0);
    for (auto const& r : all.snapshot().sources) {
        if (r.of != part::dead_letters) continue;
        BOOST_TEST(r.labels.at(0).second == "orders");
        BOOST_TEST(r.labels.at(1).second == "dead");
    }
    end();
}

BOOST_AUTO_TEST_CASE(a_queue_without_one_has_no_dead_letters_until_it_gets_one)
{
    begin();
    time.run_for(io, 61s);
    BOOST_TEST(gauge(part::queue, id::queue_messages).value() == 0.0);
    BOOST_TEST(!gauge(part::dead_letters, id::dead_letter_messages).has_value());
    allow_receives("3");
    time.run_for(io, 65s);
    BOOST_TEST(gauge(part::dead_letters, id::dead_letter_messages).value() == 0.0);
    end();
}

// A scraper refuses a page that has a series twice.
BOOST_AUTO_TEST_CASE(a_queue_whose_dead_letter_queue_changes_to_and_fro_has_each_once)
{
    auto const redrive_to = [this](std::string const& name) {
        sqs::set_queue_attributes_request redrive;
        redrive.queue_url = url;
        redrive.attributes["RedrivePolicy"] =
            R"({"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:)" + name + R"(","maxReceiveCount":3})";
        engine.set_queue_attributes(redrive, time.wall()).value();
        time.run_for(io, 65s);
    };
    engine.create_queue(sqs::create_queue_request("graves"), time.wall()).value();
    allow_receives("3");
    begin();
    for (auto const* const name : {"graves", "dead", "graves"})
        redrive_to(name);
    std::map<std::string, int> told, seen;
    for (auto const& r : all.snapshot().sources) {
        if (r.of != part::dead_letters) continue;
        ++seen[r.labels.back().second];
        if (r.gauge(id::dead_letter_messages, 0)) ++told[r.labels.back().second];
    }
    BOOST_TEST(seen == (std::map<std::string, int>{{"dead", 1}, {"graves", 1}}));
    BOOST_TEST(told == (std::map<std::string, int>{{"graves", 1}}));
    end();
}

// A number that is missing said nothing of why.
BOOST_AUTO_TEST_CASE(what_cannot_be_read_of_an_answer_is_told)
{
    odd_api odd(*local);
    begin(odd);
    time.run_for(io, 1s);
    for (auto const* member : {"RedrivePolicy", "ApproximateNumberOfMessages"}) {
        odd.member = member;
        log.clear();
        time.run_for(io, 60s);
        BOOST_TEST(log_lines("queue depth: ") == 1, member);
        BOOST_TEST(gauge(part::queue, id::queue_messages).has_value() == (odd.member == "RedrivePolicy"));
    }
    end();
}

// Old numbers would look like a queue that stands still.
BOOST_AUTO_TEST_CASE(a_queue_that_does_not_answer_has_no_numbers)
{
    begin();
    time.run_for(io, 1s);
    BOOST_TEST(gauge(part::queue, id::queue_messages).has_value());
    engine.delete_queue(sqs::delete_queue_request(url), time.wall()).value();
    time.run_for(io, 65s);
    BOOST_TEST(!gauge(part::queue, id::queue_messages).has_value());
    BOOST_TEST(log_lines("queue depth: ") == 1);
    end();
}

BOOST_AUTO_TEST_CASE(it_looks_at_the_consumer_and_asks_nothing_where_nobody_wants_it)
{
    metrics::sampler_options how;
    how.depth_every.reset();
    begin(how);
    time.run_for(io, 61s);
    BOOST_TEST(gauge(part::consumer, id::receives_open).has_value());
    BOOST_TEST(!gauge(part::queue, id::queue_messages).has_value());
    end();
}

BOOST_AUTO_TEST_CASE(it_tells_what_bounds_a_producer)
{
    producer_options how;
    how.time = &time;
    how.seed = 1;
    auto const numbers = all.producer(url);
    how.observer = numbers;
    producer sender(io.get_executor(), *local, url, how);
    begin();
    sampler->add(sender, numbers);
    sqs::send_message_entry entry("a letter");
    asio::co_spawn(io, sender.send(std::move(entry)), [](std::exception_ptr e, auto const& sent) {
        BOOST_TEST(!e);
        BOOST_TEST(sent.has_value());
    });
    time.run_for(io, 6s);
    BOOST_TEST(gauge(part::producer, id::producer_calls_limit).value() == 16.0);
    BOOST_TEST(gauge(part::producer, id::producer_bound).value() == 0.0);
    for (auto const& r : all.snapshot().sources)
        if (r.of == part::producer) BOOST_TEST(r.count(id::messages_sent, 0) == 1u);
    end();
}

BOOST_AUTO_TEST_SUITE_END()
