#include "producer/fixture.hpp"

#include <stdexcept>

using namespace quern;
using namespace quern::test;

namespace {

struct noted {
    std::string id, group, error;
    int attempts;
    tick::duration took;
};

/// Keeps what it is told; throws instead when told to.
class listener : public producer_observer {
public:
    void sent(observed_send const& m) override { note(m, ""); }
    void send_failed(observed_send const& m, failure const& why) override { note(m, why.code.message()); }
    void batch_done(std::size_t messages, std::size_t unconfirmed, tick::duration took) override
    {
        batches.push_back({messages, unconfirmed});
        longest = std::max(longest, took);
        if (throws) throw std::runtime_error("an observer's own fault");
    }

    std::vector<noted> heard;
    std::vector<std::pair<std::size_t, std::size_t>> batches; // messages, of these unconfirmed
    tick::duration longest{};
    bool throws = false;

private:
    void note(observed_send const& m, std::string error)
    {
        heard.push_back({std::string(m.message_id), std::string(m.group), std::move(error), m.attempts, m.took});
        if (throws) throw std::runtime_error("an observer's own fault");
    }
};

struct observed_workshop : workshop {
    explicit observed_workshop(bool fifo = false) : workshop(fifo)
    {
        options.observer = ears;
        options.backoff = options.backoff.with(policy::jitter::none);
    }

    std::shared_ptr<listener> ears = std::make_shared<listener>();
};

struct observed_fifo : observed_workshop {
    observed_fifo() : observed_workshop(true) {}
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(observers_of_a_producer, observed_workshop)

BOOST_AUTO_TEST_CASE(each_message_is_told_once_with_the_id_that_its_sender_gets_and_each_request_with_its_size)
{
    produce();
    send_many(12);
    BOOST_REQUIRE(until_sent(12));
    BOOST_REQUIRE(ears->heard.size() == 12u);
    for (auto const& one : ears->heard) {
        BOOST_TEST(one.error == "");
        BOOST_TEST(one.group == "");
        BOOST_TEST(one.attempts == 1);
        bool const as_long_as_the_answer_took = one.took >= 20ms;
        BOOST_TEST(as_long_as_the_answer_took);
        auto const has_its_id = [&](auto const& each) { return each.second.value().message_id == one.id; };
        BOOST_TEST(std::ranges::count_if(results, has_its_id) == 1);
    }
    BOOST_TEST(ears->batches.size() == api.calls);
    std::size_t messages = 0;
    for (auto const& [count, unconfirmed] : ears->batches) {
        messages += count;
        BOOST_TEST(unconfirmed == 0u);
    }
    BOOST_TEST(messages == 12u);
    bool const exact = ears->longest == 20ms;
    BOOST_TEST(exact);
}

BOOST_AUTO_TEST_CASE(a_message_that_is_sent_again_tells_of_both_attempts_and_of_all_its_time)
{
    api.before = [this] {
        return api.calls == 1 ? std::optional<failure>(transport(errc::connection_lost)) : std::optional<failure>();
    };
    produce();
    send("hello");
    BOOST_REQUIRE(until_sent(1));
    BOOST_REQUIRE(ears->heard.size() == 1u);
    BOOST_TEST(ears->heard[0].attempts == 2);
    bool const with_the_pause = ears->heard[0].took >= 140ms; // 20, a pause of 100, 20
    BOOST_TEST(with_the_pause);
    std::vector<std::pair<std::size_t, std::size_t>> const expected{{1, 1}, {1, 0}};
    bool const as_expected = ears->batches == expected;
    BOOST_TEST(as_expected);
}

BOOST_AUTO_TEST_CASE(what_is_given_up_is_told_with_its_reason)
{
    api.before = [] { return std::optional<failure>(transport(errc::connection_lost)); };
    options.give_up_after = 1s;
    produce();
    send("hello");
    BOOST_REQUIRE(until_sent(1));
    BOOST_REQUIRE(ears->heard.size() == 1u);
    BOOST_TEST(ears->heard[0].error == make_error_code(errc::connection_lost).message()); // that of the last attempt
    BOOST_TEST(ears->heard[0].id == "");
    BOOST_TEST(ears->heard[0].attempts > 1);
}

BOOST_AUTO_TEST_CASE(an_observer_that_throws_changes_nothing)
{
    ears->throws = true;
    produce();
    send_many(25);
    BOOST_REQUIRE(until_sent(25));
    BOOST_TEST(confirmed() == 25u);
    BOOST_TEST(ears->heard.size() == 25u);
    BOOST_TEST(take_all().size() == 25u);
}

BOOST_FIXTURE_TEST_CASE(
    a_message_of_a_group_tells_its_group_and_one_that_lacks_it_that_it_was_never_sent, observed_fifo)
{
    produce();
    send("first", "g");
    send("homeless");
    BOOST_REQUIRE(until_sent(2));
    BOOST_REQUIRE(ears->heard.size() == 2u);
    auto const refused = std::ranges::find(ears->heard, std::string(), &noted::group);
    auto const told = std::ranges::find(ears->heard, std::string("g"), &noted::group);
    BOOST_REQUIRE(refused != ears->heard.end());
    BOOST_REQUIRE(told != ears->heard.end());
    BOOST_TEST(told->error == "");
    BOOST_TEST(refused->error == make_error_code(errc::invalid_request).message());
    BOOST_TEST(refused->attempts == 0);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(explanations_of_a_producer, workshop)

// Sixteen requests of ten messages that take 100 ms each were 1,600 a second, whatever the service could take.
BOOST_AUTO_TEST_CASE(requests_grow_with_what_waits_and_the_producer_says_what_bounds_it)
{
    api.latency = 100ms;
    produce();
    producer_explanation seen;
    auto const look = [&] {
        ask(it->explain(), [&](producer_explanation const& e) { seen = e; });
        pass(0s);
    };
    send_many(10'000);
    pass(150ms);
    look();
    BOOST_TEST(seen.calls == 16u);
    BOOST_TEST(seen.held == 9'840u);
    BOOST_TEST(to_string(seen) ==
        "16 requests under way, 9840 messages held; calls are the bound, and grow: 16 of at most 64 (max_calls) of "
        "10 "
        "messages and 100.0 ms each make 1600 messages a second");
    BOOST_TEST(until_sent(10'000, 4s)); // 6.3 s with 16
    BOOST_TEST(confirmed() == 10'000u);
    BOOST_TEST(api.most_under_way > 30u);
    look();
    BOOST_TEST((seen.by == producer_explanation::bound::nothing));
}

BOOST_AUTO_TEST_SUITE_END()
