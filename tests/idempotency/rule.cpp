#include <quern/idempotency/rule.hpp>

#include <boost/test/unit_test.hpp>

#include <ostream>
#include <set>

using namespace quern;
using namespace quern::idempotency;
using namespace std::chrono_literals;
using state = record::state;

namespace quern::idempotency {

static std::ostream& operator<<(std::ostream& to, claim_kind k)
{
    return to << name_of(k);
}

static std::ostream& operator<<(std::ostream& to, write_kind k)
{
    return to << static_cast<int>(k);
}

} // namespace quern::idempotency

namespace {

wall_time const now = wall_time(1'800'000'000s) + 500ms;

record row(state is, std::string owner, std::chrono::milliseconds expires,
    std::optional<std::chrono::milliseconds> until, std::string validation = {})
{
    record out;
    out.is = is;
    out.owner = std::move(owner);
    out.expires = now + expires;
    if (until) out.in_progress_until = now + *until;
    out.validation = std::move(validation);
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(the_rule_of_claims)

BOOST_AUTO_TEST_CASE(a_claim_is_judged_by_the_row_that_it_meets)
{
    auto const working = state::in_progress, done = state::completed;
    struct line {
        std::optional<record> at;
        std::string validation;
        claim_kind is;
    };
    line const table[] = {
        {{}, "", claim_kind::claimed},
        {row(working, "other", 1h, 10s), "", claim_kind::in_progress},
        {row(working, "other", 1h, 0ms), "", claim_kind::in_progress},
        {row(working, "other", 1h, -1ms), "", claim_kind::taken_over},
        {row(working, "other", 1h, {}), "", claim_kind::in_progress}, // Powertools without a Lambda context
        {row(working, "other", -2s, {}), "", claim_kind::claimed},
        {row(working, "other", -2s, 10s), "", claim_kind::claimed},
        {row(working, "mine", 1h, 10s), "", claim_kind::claimed},
        {row(working, "mine", 1h, -1ms), "", claim_kind::claimed},
        {row(working, "", 1h, 10s), "", claim_kind::in_progress},
        {row(working, "other", 1h, 10s, "a"), "b", claim_kind::in_progress}, // told when it is done
        {row(done, "other", 1h, {}), "", claim_kind::completed},
        {row(done, "mine", 1h, {}), "", claim_kind::completed},
        {row(done, "other", 1h, -1h), "", claim_kind::completed}, // the claim's end is of no interest any more
        {row(done, "other", -2s, {}), "", claim_kind::claimed},
        {row(done, "other", 1h, {}, "a"), "a", claim_kind::completed},
        {row(done, "other", 1h, {}, "a"), "b", claim_kind::mismatch},
        {row(done, "other", 1h, {}, "a"), "", claim_kind::completed},
        {row(done, "other", 1h, {}, ""), "b", claim_kind::completed},
    };
    int number = 0;
    for (auto const& l : table) {
        auto const* const at = l.at ? &*l.at : nullptr;
        BOOST_TEST_CONTEXT("line " << number++)
        {
            BOOST_TEST(judge_claim(at, {"mine", l.validation}, now).is == l.is);
            bool const is_free_for_others = l.is == claim_kind::claimed || l.is == claim_kind::taken_over;
            if (!at || at->owner != "mine") BOOST_TEST(is_free(at, now) == is_free_for_others);
        }
    }
}

// The expiry is in seconds and the claim's end in milliseconds: whoever compares one with the other blocks a key for
// decades, or for no time.
BOOST_AUTO_TEST_CASE(an_expiry_is_over_a_whole_second_after_it)
{
    auto const completed = [](std::chrono::milliseconds expires) { return row(state::completed, "x", expires, {}); };
    auto const in_this_second = completed(-500ms), before = completed(-501ms);
    BOOST_TEST(!is_free(&in_this_second, now));
    BOOST_TEST(is_free(&before, now));
}

BOOST_AUTO_TEST_CASE(a_claim_in_progress_tells_when_it_ends)
{
    auto const claimed = row(state::in_progress, "other", 1h, 10s);
    BOOST_TEST(judge_claim(&claimed, {"mine", ""}, now).until == now + 10s);
    auto const endless = row(state::in_progress, "other", 1h, {});
    BOOST_TEST(judge_claim(&endless, {"mine", ""}, now).until == now + 1h + 1s);
}

BOOST_AUTO_TEST_CASE(a_refused_write_is_judged_by_what_stood_in_its_way)
{
    auto const check = [](std::optional<record> const& at, write_kind is) {
        BOOST_TEST(judge_refusal(at ? &*at : nullptr, "mine") == is);
    };
    check({}, write_kind::gone);
    check(row(state::in_progress, "mine", 1h, 1s), write_kind::done);
    check(row(state::completed, "mine", 1h, {}), write_kind::done); // its answer was lost, and it was sent again
    check(row(state::completed, "other", 1h, {}), write_kind::superseded);
    check(row(state::completed, "", 1h, {}), write_kind::superseded);
    check(row(state::in_progress, "other", 1h, 1s), write_kind::lost);
    check(row(state::in_progress, "", 1h, 1s), write_kind::lost); // Powertools has taken it over: our owner is gone
}

BOOST_AUTO_TEST_CASE(only_the_owner_of_a_claim_in_progress_may_write)
{
    auto const mine = row(state::in_progress, "mine", 1h, -1h), done = row(state::completed, "mine", 1h, {});
    BOOST_TEST(is_mine(&mine, "mine")); // late, and nobody has taken it over
    BOOST_TEST(!is_mine(&mine, "other"));
    BOOST_TEST(!is_mine(&done, "mine"));
    BOOST_TEST(!is_mine(nullptr, "mine"));
    auto const nobodys = row(state::in_progress, "", 1h, 1s);
    BOOST_TEST(!is_mine(&nobodys, ""));
}

BOOST_AUTO_TEST_CASE(a_message_waits_for_half_a_minute_and_is_then_given_back)
{
    wait_rule const rule{30s};
    BOOST_TEST(rule.next_look(now, now + 100ms, 0ms, false) == 102ms); // just after its end
    BOOST_TEST(rule.next_look(now, now + 20s, 0ms, false) == 250ms);   // it may be done long before
    BOOST_TEST(rule.next_look(now, now + 20s, 8s, false) == 5s);
    BOOST_TEST(rule.next_look(now, now - 1s, 0ms, false) == 2ms);
    BOOST_TEST(rule.next_look(now, now + 1h, 0ms, false) == 250ms); // functions of Powertools claim for their longest
    BOOST_TEST(rule.next_look(now, now + 1h, 25s, false) == 5s);
    BOOST_TEST(!rule.next_look(now, now + 1h, 30s, false).has_value());
    BOOST_TEST(!rule.next_look(now, now + 5s, 30s, false).has_value()); // it was extended again and again
}

BOOST_AUTO_TEST_CASE(a_message_on_its_last_receive_is_never_given_back)
{
    wait_rule const rule{30s};
    BOOST_TEST(rule.next_look(now, now + 1h, 0ms, true).has_value());
    BOOST_TEST(rule.next_look(now, now + 5s, 2h, true).has_value());
    BOOST_TEST(wait_rule{0ms}.next_look(now, now + 5s, 0ms, true).has_value());
    BOOST_TEST(!wait_rule{0ms}.next_look(now, now + 5s, 0ms, false).has_value());
}

BOOST_AUTO_TEST_CASE(each_claim_has_an_owner_of_its_own)
{
    std::set<std::string> all;
    for (int i = 0; i < 1'000; ++i)
        all.insert(new_owner());
    BOOST_TEST(all.size() == 1'000u);
    BOOST_TEST(all.begin()->size() == 22u);
}

BOOST_AUTO_TEST_SUITE_END()
