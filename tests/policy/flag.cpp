#include <quern/policy/detail/flag_rule.hpp>

#include "support/t0.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <ostream>

using namespace quern;
using namespace quern::policy;
using namespace quern::policy::detail;
using namespace std::chrono_literals;

namespace quern::policy {

std::ostream& operator<<(std::ostream& out, flag_word w)
{
    return out << (w == flag_word::run ? "run" : w == flag_word::halt ? "halt" : "unknown");
}

namespace detail {
std::ostream& operator<<(std::ostream& out, flag_rule::state s)
{
    constexpr char const* names[] = {"none", "unread", "run", "halt", "unknown"};
    return out << names[static_cast<int>(s)];
}
} // namespace detail

} // namespace quern::policy

namespace {

using enum flag_word;
using state = flag_rule::state;

struct nowhere : flag_source {
    std::string name() const override { return "file:/etc/halt"; }
    boost::asio::awaitable<result<flag_reading>> read() override { co_return flag_reading(); }
};

flag_options options()
{
    flag_options out;
    out.source = std::make_shared<nowhere>();
    return out;
}

using quern::test::t0;

struct watched {
    flag_rule rule;
    std::mt19937_64 random{7};

    explicit watched(flag_options const& how = options()) : rule(how, t0) {}

    bool says(std::string text, tick now) { return rule.read(flag_reading{std::move(text), 0s}, now, random); }
    bool says_the_same(tick now) { return rule.read(flag_reading(), now, random); }
    bool fails(tick now) { return rule.read(failure(errc::throttled, "slow down", true), now, random); }
};

} // namespace

BOOST_AUTO_TEST_SUITE(flags)

BOOST_AUTO_TEST_CASE(words_and_json_are_read_and_what_is_neither_is_unknown)
{
    struct row {
        char const* text;
        flag_word word;
        char const* name = "";
    };
    for (auto const& [text, word, name] : {
             row{"open", halt}, row{" HALT\r\n", halt}, row{"True", halt}, row{"1", halt}, row{"on", halt},
             row{"closed", run}, row{"run", run}, row{"false", run}, row{"0", run}, row{"OFF\n", run},
             row{"", unknown}, row{" \n", unknown}, row{"yes", unknown}, row{"2", unknown},
             row{"open closed", unknown}, row{"\"open\"", unknown}, row{"null", unknown},
             row{R"({"open": true})", halt}, row{R"({"isOpen": false, "since": "noon"})", run},
             row{R"({"halted": "on"})", halt}, row{R"({"halted": 0})", run},
             row{R"({"open": true, "isOpen": true})", halt}, row{R"({"open": true, "halted": false})", unknown},
             row{R"({"open": null})", unknown}, row{R"({"open": [true]})", unknown},
             row{R"({"open": {"enabled": true}})", halt},
             row{R"({"orders": {"enabled": false}, "open": true})", run, "orders"},
             row{R"({"orders": {"enabled": {"enabled": true}}})", unknown, "orders"},
             row{R"({"orders": true})", unknown}, row{R"({"orders": true})", unknown, "letters"},
             row{R"({"orders": "halt"})", halt, "orders"}, row{R"({"open": true)", unknown}, row{R"({})", unknown},
             row{"halt", halt, "orders"}, row{"\xef\xbb\xbfhalt\r\n", halt}, // as some editors save a file
             row{"\xef\xbb\xbf{\"open\": true}", halt},
             row{R"({"open": true, "since": 12345678901234567890123})", halt}, // was unknown, for the number
         })
        BOOST_TEST(read_flag(text, name) == word, text);
    BOOST_TEST(read_flag("open" + std::string(100'000, ' ')) == unknown);
    BOOST_TEST(read_flag(std::string(50'000, '{')) == unknown);
}

BOOST_AUTO_TEST_CASE(without_a_source_nothing_is_read_and_nothing_halts)
{
    watched w{flag_options()};
    BOOST_TEST(!w.rule.due(t0 + 1h));
    BOOST_TEST(!w.rule.halts(t0));
    BOOST_TEST(!w.rule.wake_at(t0).has_value());
    BOOST_TEST(w.rule.explain(t0) == "");
}

BOOST_AUTO_TEST_CASE(nothing_runs_before_the_first_reading_and_one_is_read_at_a_time)
{
    watched w;
    BOOST_TEST(w.rule.halts(t0));
    BOOST_TEST(w.rule.due(t0));
    BOOST_TEST(!w.rule.due(t0 + 1h));
    BOOST_TEST(w.rule.at(t0 + 5s) == state::unread);
    w.fails(t0 + 5s);
    BOOST_TEST(w.rule.halts(t0 + 5s));
    BOOST_TEST(w.rule.due(t0 + 6s)); // soon, as long as nothing is known
    w.says("closed", t0 + 6s);
    BOOST_TEST(!w.rule.halts(t0 + 6s));
    auto const next = *w.rule.wake_at(t0 + 6s) - (t0 + 6s);
    bool const give_or_take_a_fifth = next >= 8s && next <= 12s;
    BOOST_TEST(give_or_take_a_fifth);
    BOOST_TEST(!w.rule.due(t0 + 13s));
    BOOST_TEST(w.rule.due(t0 + 18s));
}

BOOST_AUTO_TEST_CASE(a_first_reading_that_takes_too_long_holds_nothing_up)
{
    watched w;
    w.rule.due(t0);
    auto const at = *w.rule.wake_at(t0);
    BOOST_TEST(w.rule.halts(at - 1ms));
    BOOST_TEST(w.rule.at(at) == state::unknown);
    BOOST_TEST(!w.rule.halts(at));
    BOOST_TEST(!w.rule.wake_at(at).has_value());
}

BOOST_AUTO_TEST_CASE(time_counts_from_the_first_reading_on)
{
    watched w;
    BOOST_TEST(w.rule.halts(t0 + 1h));
    BOOST_TEST(w.rule.due(t0 + 1h));
    BOOST_TEST(w.rule.at(t0 + 1h + 9s) == state::unread);
    BOOST_TEST(w.rule.at(t0 + 1h + 10s) == state::unknown);
}

BOOST_AUTO_TEST_CASE(the_same_as_nonsense_is_nonsense)
{
    watched w;
    w.says("closed", t0);
    w.says("closedd", t0 + 10s);
    w.says_the_same(t0 + 20s);
    BOOST_TEST(w.rule.age(t0 + 20s)->count() == 20);
    BOOST_TEST(w.rule.at(t0 + 301s) == state::unknown);
}

BOOST_AUTO_TEST_CASE(the_service_may_ask_for_more_time)
{
    watched w;
    w.rule.due(t0);
    w.rule.read(flag_reading{"run", 60s}, t0, w.random);
    BOOST_TEST(!w.rule.due(t0 + 59s));
    BOOST_TEST(w.rule.due(t0 + 60s));
}

BOOST_AUTO_TEST_CASE(a_word_counts_until_the_service_may_be_asked_again)
{
    watched w;
    w.rule.due(t0);
    w.rule.read(flag_reading{"closed", 900s}, t0, w.random); // longer than max_age
    BOOST_TEST(w.rule.at(t0 + 899s) == state::run);
    BOOST_TEST(w.rule.due(t0 + 900s));
    BOOST_TEST(w.rule.at(t0 + 909s) == state::run); // while it is asked
    w.fails(t0 + 909s);
    BOOST_TEST(w.rule.at(t0 + 1200s) == state::run); // max_age is for readings that fail
    BOOST_TEST(w.rule.at(t0 + 1201s) == state::unknown);
}

// A word was unknown for a moment, again and again, although each reading said that it stands.
BOOST_AUTO_TEST_CASE(a_word_counts_until_the_next_reading_however_short_max_age_is)
{
    auto how = options();
    how.max_age = how.interval;
    watched w(how);
    auto now = t0;
    for (int i = 0; i != 20; ++i) {
        w.rule.due(now);
        w.says("closed", now);
        auto const next = w.rule.wake_at(now).value();
        BOOST_TEST(w.rule.at(next + 5s) == state::run);
        now = next;
    }
}

BOOST_AUTO_TEST_CASE(a_flag_that_is_seldom_read_halts_no_longer_for_being_unread)
{
    auto how = options();
    how.interval = how.max_age = 1h;
    watched w(how);
    w.rule.due(t0);
    w.fails(t0);
    BOOST_TEST(w.rule.at(t0 + 9s) == state::unread);
    BOOST_TEST(w.rule.at(t0 + 10s) == state::unknown);
}

// Halts are raised in incidents, in which nothing may be there to be asked: work began after five minutes of that.
BOOST_AUTO_TEST_CASE(a_halt_stands_until_another_word_is_read_and_run_until_it_is_too_old)
{
    struct row {
        char const* word;
        bool halt_when_unknown;
        std::chrono::seconds since; // and no reading since
        state is;
        bool halts;
    };
    for (auto const& [word, when_unknown, since, is, halts] : {
             row{"open", false, 300s, state::halt, true},
             row{"open", false, 301s, state::halt, true},
             row{"open", false, 720h, state::halt, true},
             row{"open", true, 720h, state::halt, true},
             row{"closed", false, 300s, state::run, false},
             row{"closed", false, 301s, state::unknown, false},
             row{"closed", true, 300s, state::run, false},
             row{"closed", true, 301s, state::unknown, true},
             row{"nonsense", false, 10s, state::unknown, false},
             row{"nonsense", true, 10s, state::unknown, true},
         }) {
        BOOST_TEST_CONTEXT(word << " " << since.count() << " s ago, an unknown one halts: " << when_unknown)
        {
            auto how = options();
            how.halt_when_unknown = when_unknown;
            watched w(how);
            w.rule.due(t0);
            w.says(word, t0);
            w.fails(t0 + since - 1s);
            BOOST_TEST(w.rule.at(t0 + since) == is);
            BOOST_TEST(w.rule.halts(t0 + since) == halts);
            w.says("nonsense", t0 + since); // takes nothing back
            BOOST_TEST(w.rule.halts(t0 + since) == halts);
            w.says("closed", t0 + since);
            BOOST_TEST(!w.rule.halts(t0 + since));
        }
    }
}

BOOST_AUTO_TEST_CASE(it_says_how_old_its_word_is_and_why_there_is_no_newer_one)
{
    watched w;
    w.says("open", t0);
    BOOST_TEST(w.rule.explain(t0 + 3s) == "flag file:/etc/halt says halt, read 3 s ago");
    BOOST_TEST(w.rule.explain(t0 - 1ms) == "flag file:/etc/halt says halt, read 0 s ago"); // asked at the same time
    BOOST_TEST(w.fails(t0 + 10s)); // the first is worth a line
    BOOST_TEST(!w.fails(t0 + 20s));
    BOOST_TEST(w.rule.explain(t0 + 900s) ==
        "flag file:/etc/halt says halt, last read 900 s ago; it cannot be read now: throttled: slow down");
    w.says_the_same(t0 + 910s);
    BOOST_TEST(w.rule.explain(t0 + 910s) == "flag file:/etc/halt says halt, read 0 s ago");
    BOOST_TEST(!w.says("closed", t0 + 920s));
    BOOST_TEST(w.fails(t0 + 930s)); // in a row anew
    BOOST_TEST(w.rule.explain(t0 + 930s) ==
        "flag file:/etc/halt says run, last read 10 s ago; it cannot be read now: throttled: slow down");
    BOOST_TEST(w.rule.explain(t0 + 1221s) ==
        "flag file:/etc/halt is unknown, last read 301 s ago, which lets it run; it cannot be read now: throttled: "
        "slow down");
}

BOOST_AUTO_TEST_CASE(it_wakes_for_the_moment_at_which_run_is_too_old)
{
    auto how = options();
    how.halt_when_unknown = true;
    watched w(how);
    w.says("closed", t0);
    w.rule.due(t0 + 20s); // and no answer comes
    auto const at = *w.rule.wake_at(t0 + 20s);
    BOOST_TEST(!w.rule.halts(at - 2ms));
    BOOST_TEST(w.rule.halts(at));
    BOOST_TEST(!w.rule.wake_at(at).has_value());
    w.says("open", at);
    w.rule.due(at + 20s);
    BOOST_TEST(!w.rule.wake_at(at + 20s).has_value());
}

BOOST_AUTO_TEST_CASE(an_unknown_flag_halts_where_that_was_asked_for)
{
    auto how = options();
    how.halt_when_unknown = true;
    watched w(how);
    w.rule.due(t0);
    BOOST_TEST(w.fails(t0));
    BOOST_TEST(w.rule.halts(t0));
    BOOST_TEST(w.rule.halts(t0 + 10s));
    BOOST_TEST(w.rule.explain(t0 + 10s) ==
        "flag file:/etc/halt is unknown, never read, which halts; it cannot be read now: throttled: slow down");
    w.says("nonsense", t0 + 10s);
    BOOST_TEST(w.rule.halts(t0 + 10s));
    w.says_the_same(t0 + 20s);
    BOOST_TEST(w.rule.at(t0 + 20s) == state::unknown);
    w.says("run", t0 + 30s);
    BOOST_TEST(!w.rule.halts(t0 + 30s));
    w.says("nonsense", t0 + 40s); // is no word: the last one counts
    BOOST_TEST(!w.rule.halts(t0 + 40s));
    BOOST_TEST(w.rule.age(t0 + 40s)->count() == 10);
}

BOOST_AUTO_TEST_CASE(settings_that_cannot_work_are_named)
{
    auto how = options();
    BOOST_TEST(!how.validate().has_value());
    how.interval = 999ms;
    BOOST_TEST(how.validate()->message.find("flag.interval") != std::string::npos);
    how = options();
    how.max_age = 9s;
    BOOST_TEST(how.validate()->message.find("flag.max_age") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
