#include <quern/fleet/detail/slice_rule.hpp>

#include <boost/test/unit_test.hpp>

using namespace quern;
using namespace quern::fleet;
using namespace quern::fleet::detail;
using namespace std::chrono_literals;

namespace {

constexpr amounts budget_{100'000, 10};
constexpr amounts all{-1, -1};

item_state item_of(std::initializer_list<member> members, std::int64_t version = 1)
{
    item_state out;
    for (auto const& m : members)
        out.members.emplace(m.name, to_text(m));
    out.version = version;
    return out;
}

/// Process "a", and the item.
struct leasing {
    slice_rule rule{"a", budget_};
    item_state item;
    tick now = tick() + 1h;

    std::optional<item_write> read(usage used = {})
    {
        rule.wake(now);
        return rule.read(item, used, now);
    }
    /// As DynamoDB would, and tells the rule.
    void carry_out(item_write const& w, std::string const& name = "a")
    {
        if (w.becomes.empty())
            item.members.erase(name);
        else
            item.members[name] = w.becomes;
        for (auto const& [buried, text] : w.buried)
            item.members.erase(buried);
        if (w.version) ++item.version;
        rule.written(now);
    }
    /// Readings each second, with whatever they lead to; `others` beat.
    void pass(int seconds, std::vector<std::string> const& others = {}, usage used = {})
    {
        for (int i = 0; i < seconds; ++i) {
            now += 1s;
            for (auto const& name : others) {
                auto m = member_from(name, item.members.at(name)).value();
                ++m.beat;
                item.members[name] = to_text(m);
            }
            if (auto const w = read(used)) carry_out(*w);
        }
    }
    member mine() const { return member_from("a", item.members.at("a")).value(); }
};

} // namespace

BOOST_AUTO_TEST_SUITE(shares_of_a_budget)

BOOST_AUTO_TEST_CASE(table)
{
    struct {
        std::int64_t all;
        std::vector<std::int64_t> wishes, shares;
    } const rows[] = {
        {100, {}, {}},
        {100, {-1}, {100}},
        {100, {-1, -1}, {50, 50}},
        {10, {-1, -1, -1}, {4, 3, 3}},     // what cannot be divided goes to the first
        {100, {10, -1, -1}, {10, 45, 45}}, // who wants little leaves the rest
        {100, {-1, 10, -1}, {45, 10, 45}}, // wherever it stands
        {100, {70, -1}, {50, 50}},         // nobody gets more than its share while another wants it
        {100, {10, 20, 60}, {13, 23, 64}}, // what nobody wants is divided
        {2, {-1, -1, -1}, {1, 1, 0}},
        {0, {-1, -1}, {0, 0}},
    };
    for (auto const& row : rows)
        BOOST_TEST(share_out(row.all, row.wishes) == row.shares, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(texts_of_members_come_back_and_other_texts_are_none)
{
    member const m{"x", 17, {12'500, 3}, {-1, 4}};
    BOOST_TEST(to_text(m) == "17 12500 3 -1 4");
    BOOST_TEST((member_from("x", to_text(m)) == m));
    for (auto const* const text : {"", "17", "17 1 2 3", "17 1 2 3 4 5", "17 -1 0 0 0", "17 1 2 3 4 ", "a 1 2 3 4",
             "17 99999999999999999 2 3 4"})
        BOOST_TEST(!member_from("x", text).has_value(), text);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(slice_of_a_process, leasing)

BOOST_AUTO_TEST_CASE(the_first_takes_all_at_once_and_uses_it_once_that_is_confirmed)
{
    auto const w = read();
    BOOST_REQUIRE(w.has_value());
    BOOST_TEST(w->was.empty());
    BOOST_TEST(w->version.value() == 0);
    BOOST_TEST((rule.slice() == amounts()));
    carry_out(*w);
    BOOST_TEST((rule.slice() == budget_));
    BOOST_TEST((mine() == member{"a", 1, budget_, all}));
}

BOOST_AUTO_TEST_CASE(what_others_hold_is_not_to_be_had)
{
    item = item_of({{"b", 5, {90'000, 10}, all}});
    carry_out(read().value());
    BOOST_TEST((rule.slice() == amounts{10'000, 0}));
    item.members["b"] = to_text({"b", 6, {50'000, 5}, all});
    now += 1s;
    auto const w = read().value();
    BOOST_TEST(w.version.value() == 2);
    carry_out(w);
    BOOST_TEST((rule.slice() == amounts{50'000, 5}));
}

BOOST_AUTO_TEST_CASE(what_shrinks_is_used_no_more_before_that_is_written_and_needs_no_version)
{
    carry_out(read().value());
    item.members["b"] = to_text({"b", 1, {}, all});
    now += 1s;
    auto const w = read().value();
    BOOST_TEST((rule.slice() == amounts{50'000, 5}));
    BOOST_TEST(!w.version.has_value());
    BOOST_TEST((mine().slice == budget_));
}

BOOST_AUTO_TEST_CASE(places_are_given_back_when_the_handlers_have_ended)
{
    carry_out(read().value());
    item.members["b"] = to_text({"b", 1, {}, all});
    pass(1, {"b"}, {{}, 8});
    BOOST_TEST(rule.slice().concurrency == 5); // nothing more begins
    BOOST_TEST(mine().slice.concurrency == 8);
    pass(1, {"b"}, {{}, 2});
    BOOST_TEST(mine().slice.concurrency == 5);
}

BOOST_AUTO_TEST_CASE(it_beats_at_every_second_reading_and_writes_nothing_else)
{
    carry_out(read().value());
    int writes = 0;
    for (int i = 0; i < 10; ++i) {
        now += 1s;
        auto const w = read();
        if (!w) continue;
        ++writes;
        BOOST_TEST(!w->version.has_value());
        carry_out(*w);
    }
    BOOST_TEST(writes == 5);
}

BOOST_AUTO_TEST_CASE(one_that_is_silent_for_six_seconds_is_buried_and_its_slice_taken_in_one_write)
{
    item = item_of({{"b", 1, {50'000, 5}, all}, {"c", 1, {0, 0}, all}});
    carry_out(read().value());
    pass(5, {"c"});
    BOOST_TEST(item.members.size() == 3u);
    BOOST_TEST(rule.slice().rate <= 50'000);
    now += 1s;
    auto c = member_from("c", item.members.at("c")).value();
    ++c.beat;
    item.members["c"] = to_text(c);
    auto const w = read().value();
    BOOST_REQUIRE(w.buried.size() == 1u);
    BOOST_TEST(w.buried[0].first == "b");
    BOOST_TEST(w.buried[0].second == item.members.at("b"));
    BOOST_TEST(w.version.has_value());
    carry_out(w);
    BOOST_TEST((rule.slice() == amounts{50'000, 5}));
}

BOOST_AUTO_TEST_CASE(time_in_which_nothing_was_read_is_no_silence_of_others)
{
    item = item_of({{"b", 1, {50'000, 5}, all}});
    carry_out(read().value());
    rule.failed();
    now += 10min; // the table was gone
    rule.wake(now);
    BOOST_TEST((rule.slice() == amounts{50'000, 5})); // the last slice
    auto const w = read();
    BOOST_TEST((!w || w->buried.empty()));
    BOOST_TEST((rule.slice() == amounts{50'000, 5}));
}

BOOST_AUTO_TEST_CASE(one_that_stood_still_uses_nothing_until_a_write_is_confirmed)
{
    carry_out(read().value());
    now += 6s;
    rule.wake(now);
    BOOST_TEST((rule.slice() == amounts()));
    auto const w = read();
    BOOST_TEST((rule.slice() == amounts())); // somebody may be about to bury it
    carry_out(w.value());
    BOOST_TEST((rule.slice() == budget_));
}

BOOST_AUTO_TEST_CASE(one_that_was_buried_uses_nothing_and_joins_again)
{
    carry_out(read().value());
    item = item_of({{"b", 1, budget_, all}}, 7);
    now += 1s;
    auto const w = read().value();
    BOOST_TEST((rule.slice() == amounts()));
    BOOST_TEST(w.was.empty());
    BOOST_TEST((member_from("a", w.becomes).value().slice == amounts()));
}

BOOST_AUTO_TEST_CASE(one_whose_write_finds_it_buried_uses_nothing)
{
    carry_out(read().value());
    now += 2s;
    BOOST_TEST(read().has_value());
    rule.refused(item_of({{"b", 1, budget_, all}}));
    BOOST_TEST((rule.slice() == amounts()));
}

BOOST_AUTO_TEST_CASE(a_write_whose_answer_was_lost_is_taken_up_by_the_next_reading)
{
    auto const w = read().value();
    rule.failed();
    BOOST_TEST((rule.slice() == amounts()));
    item.members["a"] = w.becomes; // it was carried out
    now += 1s;
    read();
    BOOST_TEST((rule.slice() == budget_));
}

BOOST_AUTO_TEST_CASE(what_is_not_used_is_lent_and_comes_back_when_it_is)
{
    item = item_of({{"b", 1, {}, all}});
    carry_out(read().value());
    pass(4, {"b"}, {5.0, {}});
    BOOST_TEST(mine().wish.rate == -1); // may be chance
    pass(3, {"b"}, {5.0, {}});
    BOOST_TEST(mine().wish.rate == 8'000); // half as much again, in parts of a fiftieth
    BOOST_TEST(rule.slice().rate == 8'000);
    pass(3, {"b"}, {5.3, {}});
    BOOST_TEST(rule.slice().rate == 8'000);
    now += 1s;
    BOOST_TEST((member_from("a", read(usage{8.0, {}}).value().becomes).value().wish == all));
}

BOOST_AUTO_TEST_CASE(leaving_removes_it)
{
    BOOST_TEST(!rule.leave().has_value());
    carry_out(read().value());
    auto const w = rule.leave().value();
    BOOST_TEST(w.becomes.empty());
    BOOST_TEST(w.was == item.members.at("a"));
    BOOST_TEST((rule.slice() == amounts()));
}

BOOST_AUTO_TEST_SUITE_END()
