#include "consumer/outage_model.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using namespace quern;
using namespace quern::test;

namespace {

std::string text(model_day const& d)
{
    static constexpr char const* orders[] = {"mixed", "in turn", "fifty in a row", "500 in a row", "37 at random"};
    return std::to_string(d.ill) + " of 10 ill, " + orders[static_cast<int>(d.order)] + ", " +
        std::to_string(d.rate) + "/s, max receives " + std::to_string(d.max_receives) + (d.keyed ? ", keyed" : "") +
        (d.backlog != 0 ? ", a backlog" : "");
}

void healthy_are_handled(model_day const& d)
{
    auto const out = outage_model(d).run();
    BOOST_TEST(out.healthy_handled >= 0.9 * static_cast<double>(out.healthy_arrived),
        text(d) << ": " << out.healthy_handled << " of " << out.healthy_arrived);
    BOOST_TEST(out.all_done, text(d));
}

void none_is_lost(model_day const& d)
{
    auto const out = outage_model(d).run();
    auto const length = static_cast<double>((d.down_until - d.down_from).count());
    auto const usual = d.rate * length;
    BOOST_TEST(out.dead == 0, text(d) << ": " << out.dead << " dead");
    if (d.rate >= 10 && d.down_from != 0s)
        BOOST_TEST(
            static_cast<double>(out.runs_of_ill) <= 0.1 * usual, text(d) << ": " << out.runs_of_ill << " runs");
    BOOST_TEST((out.done_after <= d.sent_until - d.down_until + 10min + 5s),
        text(d) << ": done " << out.done_after.count() << " s after");
    BOOST_TEST(out.all_done, text(d));
}

constexpr arrival orders[] = {arrival::mixed, arrival::in_turn, arrival::fifty_in_a_row,
    arrival::five_hundred_in_a_row, arrival::thirty_seven_at_random};

} // namespace

BOOST_AUTO_TEST_SUITE(outage_days)

// One of ten tenants down, its messages in bursts of fifty: 180 healthy ones a second became none.
BOOST_AUTO_TEST_CASE(an_outage_of_a_part_costs_the_healthy_no_tenth)
{
    for (auto const order : orders)
        for (auto const ill : {1, 3, 5, 9})
            for (auto const& [rate, most] : {std::pair(2, 0), std::pair(20, 10)}) {
                if (order == arrival::five_hundred_in_a_row) continue; // falls: slowed, it takes minutes to pass one
                healthy_are_handled({.ill = ill,
                    .rate = rate,
                    .order = order,
                    .max_receives = most,
                    .down_until = 720s,
                    .sent_until = 780s});
            }
}

BOOST_AUTO_TEST_CASE(nor_where_many_arrive)
{
    for (auto const order : {arrival::mixed, arrival::five_hundred_in_a_row})
        for (auto const ill : {1, 5, 9})
            healthy_are_handled(
                {.ill = ill, .rate = 100, .order = order, .max_receives = 5, .down_until = 600s, .sent_until = 660s});
}

BOOST_AUTO_TEST_CASE(with_keys_it_costs_nothing)
{
    for (auto const order : orders)
        for (auto const ill : {1, 5, 9})
            healthy_are_handled({.ill = ill,
                .rate = 20,
                .order = order,
                .max_receives = 5,
                .keyed = true,
                .down_until = 720s,
                .sent_until = 780s});
}

BOOST_AUTO_TEST_CASE(a_process_that_starts_in_the_middle_of_it_finds_the_healthy)
{
    for (auto const order : {arrival::mixed, arrival::fifty_in_a_row})
        for (auto const ill : {1, 5})
            for (auto const keyed : {false, true})
                healthy_are_handled(
                    {.ill = ill, .rate = 20, .order = order, .keyed = keyed, .down_from = 0s, .backlog = 1'000});
}

BOOST_AUTO_TEST_CASE(an_outage_of_all_loses_none_and_spends_a_tenth)
{
    for (auto const rate : {2, 20})
        for (auto const most : {0, 3, 5})
            for (auto const keyed : {false, true})
                none_is_lost({.ill = 10, .rate = rate, .max_receives = most, .keyed = keyed});
    none_is_lost({.ill = 10, .rate = 100, .max_receives = 3});
}

BOOST_AUTO_TEST_CASE(half_an_hour_as_well)
{
    for (auto const rate : {2, 20})
        none_is_lost(
            {.ill = 10, .rate = rate, .max_receives = 3, .down_until = 120s + 1'800s, .sent_until = 120s + 1'920s});
}

BOOST_AUTO_TEST_CASE(nothing_new_need_come_for_it_to_end)
{
    none_is_lost({.ill = 10, .max_receives = 3, .sent_until = 1'320s});
    none_is_lost({.ill = 10, .max_receives = 3, .keyed = true, .sent_until = 1'320s});
}

BOOST_AUTO_TEST_CASE(outages_that_come_and_go_cost_a_few)
{
    for (auto const rate : {2, 20}) {
        auto const out = outage_model({.ill = 10, .rate = rate, .max_receives = 5, .flaps = 20s}).run();
        BOOST_TEST(out.dead <= 30);
        BOOST_TEST(out.all_done);
    }
}

BOOST_AUTO_TEST_SUITE_END()
