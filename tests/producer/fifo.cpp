#include "producer/fixture.hpp"

#include <random>
#include <set>

using namespace quern;
using namespace quern::test;

namespace {

struct ordered : workshop {
    ordered() : workshop(true) {}

    void send_groups(int groups, int each)
    {
        for (int i = 0; i < each; ++i) {
            for (int g = 0; g < groups; ++g) {
                auto const group = "g" + std::to_string(g);
                send(group + ' ' + std::to_string(i), group);
            }
        }
    }

    /// Each group's messages are in the queue, once, in the order of sending.
    void check_order(int groups, int each)
    {
        std::map<std::string, int> next;
        for (auto const& body : take_all()) {
            auto const gap = body.find(' ');
            BOOST_TEST(next[body.substr(0, gap)]++ == std::stoi(body.substr(gap)), body);
        }
        BOOST_TEST(next.size() == static_cast<std::size_t>(groups));
        for (auto const& [group, count] : next)
            BOOST_TEST(count == each, group);
    }

    /// Requests fail before or after they are carried out, take their time, and entries fail alone.
    void misbehave(unsigned seed, double entry_failed)
    {
        broker::fault_settings faults;
        faults.seed = seed;
        faults.by_operation["SendMessageBatch"].entry_failed = entry_failed;
        engine.set_faults(faults);
        random.seed(seed);
        api.before = [this]() -> std::optional<failure> {
            api.latency = std::chrono::milliseconds(random() % 40);
            if (random() % 10 == 0) return transport(errc::throttled);
            return {};
        };
        api.after = [this]() -> std::optional<failure> {
            if (random() % 10 == 0) return transport(errc::connection_lost);
            return {};
        };
    }

    std::mt19937 random;
};

struct content_based : workshop {
    content_based() : workshop(true, true) {}
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(producing_in_order, ordered)

BOOST_AUTO_TEST_CASE(groups_share_requests_and_a_confirmation_has_a_sequence_number)
{
    produce();
    send_groups(10, 5);
    BOOST_TEST(until_sent(50));
    BOOST_TEST(confirmed() == 50u);
    BOOST_TEST(!results.at("g0 0").value().sequence_number.empty());
    BOOST_TEST(api.calls == 5u);
    check_order(10, 5);
}

BOOST_AUTO_TEST_CASE(order_is_kept_whatever_fails)
{
    for (unsigned seed = 1; seed <= 20; ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed)
        {
            ordered w;
            w.options.seed = seed;
            w.options.max_buffered = 60;
            w.misbehave(seed, 0.2);
            w.produce();
            w.send_groups(12, 15);
            BOOST_TEST(w.until_sent(180, 1min));
            BOOST_TEST(w.confirmed() == 180u);
            w.check_order(12, 15);
        }
    }
}

BOOST_AUTO_TEST_CASE(gathered_order_is_kept_when_whole_requests_fail)
{
    for (unsigned seed = 1; seed <= 20; ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed)
        {
            ordered w;
            w.options.seed = seed;
            w.options.gather_groups = true;
            w.misbehave(seed, 0);
            w.produce();
            w.send_groups(2, 100);
            BOOST_TEST(w.until_sent(200, 1min));
            w.check_order(2, 100);
            BOOST_TEST(w.api.calls < 50u);
        }
    }
}

BOOST_AUTO_TEST_CASE(every_try_of_a_message_has_the_same_deduplication_id_and_no_other_message_has_it)
{
    misbehave(3, 0.3);
    produce();
    send_groups(5, 10);
    BOOST_TEST(until_sent(50));
    std::set<std::string> all;
    for (auto const& [body, ids] : api.ids) {
        BOOST_TEST(std::set<std::string>(ids.begin(), ids.end()).size() == 1u, body);
        BOOST_TEST(!ids[0].empty());
        all.insert(ids[0]);
    }
    BOOST_TEST(all.size() == 50u);
}

BOOST_AUTO_TEST_CASE(a_deduplication_id_of_the_sender_is_left_alone)
{
    produce();
    for (auto const* const body : {"one", "two"}) {
        sqs::send_message_entry entry(body);
        entry.group_id = "g";
        entry.deduplication_id = "same";
        spawn(send_one(std::move(entry)));
    }
    BOOST_TEST(until_sent(2));
    BOOST_TEST(results.at("one").value().message_id == results.at("two").value().message_id);
    BOOST_TEST(take_all() == std::vector<std::string>{"one"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_message_without_a_group_is_refused_and_fails_no_other)
{
    produce();
    send("stray");
    send("fine", "g");
    send("empty", "");
    BOOST_TEST(until_sent(3));
    BOOST_TEST(error_of("stray") == errc::invalid_request);
    BOOST_TEST(error_of("empty") == errc::invalid_request);
    BOOST_TEST(results.at("fine").has_value());
}

BOOST_AUTO_TEST_CASE(a_refused_message_lets_the_later_ones_of_its_group_go)
{
    produce();
    send("", "g");
    send("next", "g");
    BOOST_TEST(until_sent(2));
    BOOST_TEST(error_of("") == errc::invalid_request);
    BOOST_TEST(results.at("next").has_value());
}

BOOST_AUTO_TEST_CASE(a_longer_patience_than_the_memory_of_the_service_is_refused)
{
    options.give_up_after = 5min;
    BOOST_CHECK_THROW(produce(), boost::system::system_error);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_CASE(a_queue_that_goes_by_content_gets_no_ids_from_the_producer, content_based)
{
    produce();
    api.after = [once = true]() mutable -> std::optional<failure> {
        if (!std::exchange(once, false)) return {};
        return transport(errc::connection_lost);
    };
    send("hello", "g");
    BOOST_TEST(until_sent(1));
    BOOST_TEST(confirmed() == 1u);
    BOOST_TEST(api.ids.at("hello").size() == 2u);
    BOOST_TEST(api.ids.at("hello")[0] == "");
    BOOST_TEST(take_all().size() == 1u);
}
