#include "bad_times.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <random>

using namespace quern;
using namespace quern::test;

// Whose turn it is among those that wait here. What the rule remembers of it must tell no other story than looking at
// all of them each time does.

namespace {

/// Life of one rule through hours that a seed has drawn; two with the same seed live through the same.
class hours : bad_times {
    static constexpr std::size_t keys = 3;

    using life = message_life::event;

    bool const remembers_;
    std::mt19937 random_;
    std::vector<dependency_ptr> known_;
    std::array<bool, keys> down_{};
    std::size_t rarely_received_ = 0, seldom_changes_ = 0; // once in so many steps more
    std::vector<held_ptr> running_, here_;

    std::size_t draw(std::size_t below) { return random_() % below; }

    void tell(std::string what) { story.push_back(std::to_string((now - tick()) / 1ms) + ": " + std::move(what)); }

    void forget_turns()
    {
        if (remembers_) return;
        for (auto const& d : known_)
            d->next_turn.reset();
    }

    void goes(held_ptr const& h, std::optional<outage::way_back> const& back)
    {
        if (!back) here_.push_back(h);
        tell(std::string(h->message.id()) + (back ? " back in " + std::to_string(back->delay.count()) : " waits"));
    }

    void begin(held_ptr h)
    {
        tell(std::string(h->message.id()) + " runs");
        h->life.on(life::begin);
        it().started(*h, now);
        std::erase(here_, h);
        running_.push_back(std::move(h));
    }

    void receive()
    {
        auto const h = message(known_[draw(keys)]->name, 1 + static_cast<int>(draw(3)));
        forget_turns();
        if (it().admits(*h, now))
            begin(h);
        else
            goes(h, it().stand_back(h, now));
    }

    outcome said(held const& h)
    {
        auto const own = static_cast<std::size_t>(h.depends_on->name.front() - 'a');
        auto const chance = draw(20);
        if (chance == 0) return release();
        if (chance == 1) return retry();
        if (chance == 2) return unavailable(known_[draw(keys)]->name);
        return down_[own] || chance < 5 ? unavailable() : ack();
    }

    void end_one()
    {
        if (running_.empty()) return;
        auto const at = running_.begin() + static_cast<std::ptrdiff_t>(draw(running_.size()));
        auto const h = *at;
        running_.erase(at);
        auto const end = said(*h);
        auto const news = outage::news_of(end);
        forget_turns();
        it().ended(*h, news, now);
        h->life.on(life::end);
        if (news.what == outage::sign::down) goes(h, it().found_down(h, news, now));
    }

    void lose_one()
    {
        if (!here_.empty()) here_[draw(here_.size())]->life.on(life::lease_lost);
        std::erase_if(here_, [](held_ptr const& h) { return !h->life.is(message_life::state::waiting); });
    }

    void let_go()
    {
        forget_turns();
        if (it().lets_go(now)) tell("some may run");
        for (auto most = draw(4); most != 0; --most) {
            forget_turns();
            auto const h = it().next_kept(now);
            if (!h) break;
            begin(h);
        }
        forget_turns();
        auto const [taken, all] = it().room(running_.size() + here_.size(), 0, now);
        tell(std::to_string(taken) + " of " + std::to_string(all) + " places");
        forget_turns();
        wakes.push_back(it().wake_at(now).value_or(tick::max()));
    }

public:
    std::vector<std::string> story;
    std::vector<tick> wakes;

    hours(unsigned seed, bool remembers) : remembers_(remembers), random_(seed)
    {
        options.breaker->slow_start_round = 20s;
        it().set_max_receives(3);
        for (auto const* const name : {"a", "b", "c"})
            known_.push_back(message(name)->depends_on);
        rarely_received_ = 1 + draw(2) * draw(100);
        seldom_changes_ = 1 + draw(2) * draw(100);
    }

    void live(int steps)
    {
        for (; steps != 0; --steps) {
            switch (draw(12)) {
            case 0:
                if (draw(seldom_changes_) == 0) down_[draw(keys)] = draw(2) == 0;
                break;
            case 1:
                if (draw(seldom_changes_) == 0) lose_one();
                break;
            case 2: now += 1s * draw(60); break;
            case 3:
            case 4: now += 1ms * draw(3'000); break;
            case 5:
                if (draw(seldom_changes_) == 0) it().report(draw(40) == 0, now);
                break;
            case 6:
            case 7:
            case 8: end_one(); break;
            default:
                if (draw(rarely_received_) == 0) receive();
            }
            let_go();
        }
        it().take_kept();
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(outage_rule, bad_times)

BOOST_AUTO_TEST_CASE(what_it_remembers_of_whose_turn_it_is_changes_nothing)
{
    std::size_t ran_later = 0;
    for (unsigned seed = 0; seed != 300; ++seed) {
        hours remembering(seed, true), looking(seed, false);
        remembering.live(1'000);
        looking.live(1'000);
        BOOST_TEST_CONTEXT("seed " << seed)
        {
            auto const [one, two] = std::ranges::mismatch(remembering.story, looking.story);
            auto const same = one == remembering.story.end() && two == looking.story.end();
            if (!same && one != remembering.story.end()) BOOST_TEST_MESSAGE("remembering, " << *one);
            if (!same && two != looking.story.end()) BOOST_TEST_MESSAGE("looking, " << *two);
            BOOST_TEST_REQUIRE(same);
            // It may look again too early, and never too late.
            BOOST_TEST(std::ranges::equal(remembering.wakes, looking.wakes, std::ranges::less_equal()));
        }
        ran_later += static_cast<std::size_t>(
            std::ranges::count_if(looking.story, [](auto const& line) { return line.ends_with("some may run"); }));
    }
    BOOST_TEST(ran_later > 1'000u); // else nothing was compared
}

BOOST_AUTO_TEST_SUITE_END()
