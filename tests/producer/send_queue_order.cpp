#include "producer/sending.hpp"

#include <map>
#include <random>
#include <set>

using namespace quern;
using namespace quern::test;
using namespace quern::detail;

BOOST_FIXTURE_TEST_SUITE(send_queue_order, sending)

BOOST_AUTO_TEST_CASE(fifo_a_group_has_one_message_under_way_and_groups_share_a_request)
{
    fifo = true;
    for (auto const* const body : {"a1", "b1", "a2", "b2"})
        add(body, t0, std::string(1, *body));
    auto const first = queue().take(t0);
    BOOST_TEST(bodies(first) == (texts{"a1", "b1"}), boost::test_tools::per_element());
    BOOST_TEST(queue().take(t0 + 1s).empty());
    BOOST_TEST(queue().answered(first[1], false, t0 + 1s));
    BOOST_TEST(bodies(queue().take(t0 + 2s)) == texts{"b2"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(fifo_a_failure_holds_up_its_group_and_no_other)
{
    fifo = true;
    for (auto const* const body : {"a1", "b1", "a2", "b2"})
        add(body, t0, std::string(1, *body));
    auto const first = queue().take(t0);
    BOOST_TEST(!queue().answered(first[0], true, t0));
    BOOST_TEST(queue().answered(first[1], false, t0));
    returned(first, t0);
    auto const second = queue().take(t0);
    BOOST_TEST(bodies(second) == texts{"b2"}, boost::test_tools::per_element());
    confirm(second, t0);
    BOOST_TEST(queue().take(t0 + 99ms).empty());
    auto const third = queue().take(t0 + 100ms);
    BOOST_TEST(bodies(third) == texts{"a1"}, boost::test_tools::per_element());
    confirm(third, t0 + 100ms);
    BOOST_TEST(bodies(queue().take(t0 + 100ms)) == texts{"a2"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(fifo_a_withdrawn_message_frees_its_group)
{
    fifo = true;
    options.max_calls = 1;
    auto const a1 = add("a1", t0, "a"), a2 = add("a2", t0, "a");
    add("a3", t0, "a");
    fail(queue().take(t0), t0);
    queue().withdraw(a2, t0); // behind
    queue().withdraw(a1, t0); // waits for another try
    BOOST_TEST(bodies(queue().take(t0)) == texts{"a3"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(fifo_gathered_a_group_shares_a_request_and_no_two_requests_share_a_group)
{
    fifo = true;
    options.gather_groups = true;
    for (int i = 0; i < 12; ++i)
        add(std::to_string(i), t0, "a");
    add("b", t0, "b");
    auto const first = queue().take(t0);
    BOOST_TEST(first.size() == 10u);
    auto const other = queue().take(t0 + 1s);
    BOOST_TEST(bodies(other) == texts{"b"}, boost::test_tools::per_element());
    confirm(other, t0 + 1s);
    for (std::size_t i = 0; i < 10; ++i)
        queue().answered(first[i], i == 1 || i == 3, t0 + 1s);
    returned(first, t0 + 1s);
    BOOST_TEST(queue().take(t0 + 1s).empty()); // the whole group waits for the first that failed
    BOOST_TEST(bodies(queue().take(t0 + 1'100ms)) == (texts{"1", "3", "10", "11"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(whatever_happens_every_message_is_done_once_within_the_limits_and_in_order)
{
    for (unsigned seed = 1; seed <= 200; ++seed) {
        std::mt19937 random(seed);
        auto const chance = [&](unsigned percent) { return random() % 100 < percent; };
        fifo = seed % 2 == 0;
        options.gather_groups = seed % 4 == 0;
        options.max_calls = 1 + random() % 4;
        options.max_buffered = 5 + random() % 50;
        options.give_up_after = 2s;
        made.reset();

        std::vector<std::pair<tick, batch>> calls; // until when
        std::map<outgoing_ptr, int> done;
        std::map<std::string, std::uint64_t> last; // group -> number of the last one tried and done
        batch all;
        auto now = t0;
        auto const finish = [&](outgoing_ptr const& message) { ++done[message]; };
        while (all.size() < 300 || !queue().empty()) {
            if (all.size() < 300) {
                for (auto n = random() % 20; n != 0; --n)
                    all.push_back(add("m", now, "g" + std::to_string(random() % 7)));
            }
            if (chance(10)) {
                auto const& unlucky = all[random() % all.size()];
                if (unlucky->wanted && !done.contains(unlucky)) {
                    bool const waits = unlucky->at != outgoing::place::under_way;
                    queue().withdraw(unlucky, now);
                    if (waits) finish(unlucky);
                }
            }
            for (auto const& message : queue().expired(now))
                finish(message);
            for (auto next = queue().take(now); !next.empty(); next = queue().take(now)) {
                std::set<std::string> groups;
                for (auto const& message : next) {
                    BOOST_REQUIRE(message->at == outgoing::place::under_way);
                    if (!fifo) continue;
                    auto const& group = *message->entry.group_id;
                    if (!options.gather_groups) BOOST_REQUIRE(groups.insert(group).second);
                    BOOST_REQUIRE_GE(message->number + 1, last[group]);
                    for (auto const& [until, other] : calls) {
                        for (auto const& held : other)
                            BOOST_REQUIRE(held->entry.group_id != message->entry.group_id);
                    }
                }
                BOOST_REQUIRE_LE(next.size(), 10u);
                calls.emplace_back(now + std::chrono::milliseconds(random() % 300), next);
                BOOST_REQUIRE_LE(calls.size(), options.max_calls);
            }
            now += std::chrono::milliseconds(1 + random() % 50);
            for (std::size_t i = 0; i < calls.size();) {
                if (calls[i].first > now) {
                    ++i;
                    continue;
                }
                auto const over = std::move(calls[i].second);
                calls.erase(calls.begin() + static_cast<std::ptrdiff_t>(i));
                for (auto const& message : over) {
                    auto const group = message->entry.group_id.value_or("");
                    auto const number = message->number + 1;
                    if (!queue().answered(message, chance(30), now)) continue;
                    if (!options.gather_groups) last[group] = number;
                    finish(message);
                }
                returned(over, now);
            }
        }
        BOOST_TEST(done.size() == all.size(), "seed " << seed);
        for (auto const& [message, times] : done)
            BOOST_TEST(times == 1, "seed " << seed);
    }
}

BOOST_AUTO_TEST_SUITE_END()
