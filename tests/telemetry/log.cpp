#include <quern/telemetry/log.hpp>

#include "support/t0.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <unistd.h>

using namespace quern;
using namespace std::chrono_literals;

namespace {

using quern::test::t0;

struct logged {
    std::vector<std::string> lines;
    std::vector<log_level> levels;
    log_throttle log{[this](log_level level, std::string_view text) {
        levels.push_back(level);
        lines.emplace_back(text);
    }};
};

} // namespace

BOOST_AUTO_TEST_CASE(a_log_level_has_a_name)
{
    std::string all;
    for (auto const level : {log_level::debug, log_level::info, log_level::warning, log_level::error})
        all += std::string(to_string(level)) + ' ';
    BOOST_TEST(all == "debug info warning error ");
}

BOOST_AUTO_TEST_CASE(standard_error_gets_whole_lines_with_their_level_and_nothing_for_debugging)
{
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> const file(std::tmpfile(), std::fclose);
    BOOST_REQUIRE(file);
    auto const real = ::dup(STDERR_FILENO);
    ::dup2(::fileno(file.get()), STDERR_FILENO);
    auto const sink = to_standard_error();
    sink(log_level::warning, "receive failed: refused");
    sink(log_level::debug, "breaker: half open");
    sink(log_level::info, "breaker: closed");
    ::dup2(real, STDERR_FILENO);
    ::close(real);
    std::string text(200, '\0');
    text.resize(static_cast<std::size_t>(::pread(::fileno(file.get()), text.data(), text.size(), 0)));
    BOOST_TEST(text == "quern: warning: receive failed: refused\nquern: info: breaker: closed\n");
}

BOOST_FIXTURE_TEST_SUITE(log_lines, logged)

// A line break in a rejection's reason made two lines of it, the second one forged.
BOOST_AUTO_TEST_CASE(what_is_never_held_back_is_printable_too)
{
    log.write_each(log_level::error, "message rejected", "m0: no\nerror: forged", t0);
    BOOST_TEST(lines == std::vector<std::string>{"message rejected: m0: no error: forged"},
        boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_must_not_be_missed_is_never_held_back)
{
    std::vector<std::string> passed;
    log_throttle each([&](log_level, std::string_view text) { passed.emplace_back(text); });
    for (int i = 0; i < 3; ++i)
        each.write_each(log_level::error, "message rejected", "m" + std::to_string(i), tick());
    BOOST_TEST(
        passed == (std::vector<std::string>{"message rejected: m0", "message rejected: m1", "message rejected: m2"}),
        boost::test_tools::per_element());
    BOOST_TEST(each.last_problem()->text == "message rejected: m2");
}

BOOST_AUTO_TEST_CASE(a_cause_has_one_line_a_second_and_the_next_says_how_many_there_were)
{
    for (int i = 0; i < 1'000; ++i)
        log.write(log_level::warning, "handler failed", "m" + std::to_string(i), t0 + i * 1ms);
    log.write(log_level::warning, "handler failed", "later", t0 + 1s);
    BOOST_TEST(
        lines == (std::vector<std::string>{"handler failed: m0", "handler failed: later (and 999 more like it)"}),
        boost::test_tools::per_element());
}

// Hours of failures: never two lines of a cause within a second, and not one unaccounted for.
BOOST_AUTO_TEST_CASE(whatever_happens_there_are_no_more_lines_than_seconds)
{
    std::size_t told = 0, written = 0;
    std::vector<tick> at;
    auto now = t0;
    log_throttle counting([&](log_level, std::string_view text) {
        at.push_back(now);
        auto const own_line = text.find("more like it") == text.npos || text.find("(and") != text.npos;
        auto const number = text.find_first_of("0123456789");
        told += own_line ? 1u : 0u;
        if (number != text.npos) told += std::stoul(std::string(text.substr(number)));
    });
    for (int i = 0; i < 50'000; ++i, now += std::chrono::milliseconds(i % 7 * i % 400)) {
        if (i % 3 != 0) {
            counting.write(log_level::error, "cause", "text", now);
            ++written;
        }
        if (i % 5 == 0) counting.flush(now);
    }
    now += 2s;
    counting.flush(now);
    BOOST_TEST(told == written);
    for (std::size_t i = 1; i < at.size(); ++i)
        BOOST_REQUIRE(at[i] - at[i - 1] >= 1s);
}

// "6 more like it" stood for six different exceptions.
BOOST_AUTO_TEST_CASE(kinds_of_a_cause_are_told_apart_up_to_twenty)
{
    auto const fail = [this](std::string const& why, int n, tick at) {
        log.write(log_level::warning, "handler failed", {"m" + std::to_string(n) + ": " + why, why, {}}, at);
    };
    for (int n = 0; n < 3; ++n) {
        fail("refused", n, t0);
        fail("no such order", n, t0);
    }
    log.flush(t0 + 1s);
    BOOST_TEST(lines ==
            (std::vector<std::string>{"handler failed: m0: refused", "handler failed: m0: no such order",
                "handler failed: m2: no such order (and 1 more like it)",
                "handler failed: m2: refused (and 1 more like it)"}),
        boost::test_tools::per_element());
    lines.clear();
    for (int n = 0; n < 1'000; ++n)
        fail("own text " + std::to_string(n), n, t0 + 3s);
    BOOST_TEST(lines.size() <= 21u);
    log.flush(t0 + 4s);
    BOOST_TEST(lines.size() <= 22u);
}

BOOST_AUTO_TEST_CASE(a_line_says_what_it_is_about_also_when_it_comes_later)
{
    std::vector<std::string> seen;
    log_throttle with_queue(
        [&](log_level, log_text const& line) {
            seen.push_back(std::string(line.about.queue) + ' ' + std::string(line.about.message_id) + ' ' +
                std::to_string(line.about.attempt) + ' ' + std::to_string(line.about.status));
        },
        "https://sqs/1/orders");
    for (int n = 1; n < 4; ++n) {
        auto const id = "m" + std::to_string(n);
        log_entry line{id + ": HTTP 503", "HTTP 503", {}};
        line.about.message_id = id;
        line.about.attempt = n;
        line.about.status = 503;
        with_queue.write(log_level::warning, "retried", line, t0);
    }
    with_queue.flush(t0 + 1s);
    BOOST_TEST(seen == (std::vector<std::string>{"https://sqs/1/orders m1 1 503", "https://sqs/1/orders m3 3 503"}),
        boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(causes_do_not_silence_one_another)
{
    log.write(log_level::warning, "receive failed", "a", t0);
    log.write(log_level::warning, "handler failed", "b", t0);
    BOOST_TEST(lines.size() == 2u);
}

// The id of a message, or what a handler has thrown, could forge lines and command a terminal.
BOOST_AUTO_TEST_CASE(a_line_is_one_line_whatever_stands_in_it)
{
    log.write(log_level::warning, "handler failed", "m1\n2026-01-01 all is well\x1b[2J", t0);
    BOOST_TEST(lines.at(0) == "handler failed: m1 2026-01-01 all is well [2J");
    BOOST_TEST(log.last_problem()->text == lines.at(0));
}

BOOST_AUTO_TEST_CASE(what_was_held_back_is_told_though_nothing_more_happens)
{
    for (int i = 0; i < 3; ++i)
        log.write(log_level::error, "lease lost", "m", t0);
    log.flush(t0 + 999ms);
    BOOST_TEST(lines.size() == 1u);
    log.flush(t0 + 1s);
    log.flush(t0 + 5s);
    BOOST_REQUIRE(lines.size() == 2u);
    BOOST_TEST(lines[1] == "lease lost: m (and 1 more like it)");
    BOOST_TEST(levels[1] == log_level::error);
    log.write(log_level::error, "lease lost", "m", t0 + 1'500ms); // that line was one, too
    BOOST_TEST(lines.size() == 2u);
}

BOOST_AUTO_TEST_CASE(the_last_problem_is_remembered_whoever_listens)
{
    log_throttle silent({});
    BOOST_TEST(!silent.last_problem().has_value());
    silent.write(log_level::warning, "receive failed", "refused", t0);
    silent.write(log_level::info, "chatter", "all is well", t0 + 1s);
    BOOST_REQUIRE(silent.last_problem().has_value());
    BOOST_TEST(silent.last_problem()->text == "receive failed: refused");
    BOOST_TEST(silent.last_problem()->at == t0);
    log.write(log_level::error, "lease lost", "a", t0);
    log.write(log_level::error, "lease lost", "b", t0 + 1ms); // held back
    BOOST_TEST(log.last_problem()->text == "lease lost: b");
}

BOOST_AUTO_TEST_CASE(a_text_that_is_too_long_is_cut_between_characters)
{
    log.write(log_level::error, "a", std::string(1'000, 'x'), t0);
    BOOST_TEST(lines[0].size() == 1'003u);
    std::string umlauts;
    while (umlauts.size() < 5'000)
        umlauts += "ä";
    log.write(log_level::error, "b", "x" + umlauts, t0);
    BOOST_TEST(lines[1].size() < 1'010u);
    BOOST_TEST(lines[1].ends_with("ä…"));
    log.write(log_level::error, "c", std::string(5'000, '\x80'), t0); // not even UTF-8
    BOOST_TEST(lines[2].size() < 1'010u);
}

BOOST_AUTO_TEST_CASE(a_sink_that_throws_does_no_harm)
{
    log_throttle bad([](log_level, std::string_view) { throw std::runtime_error("the disk is full"); });
    bad.write(log_level::error, "cause", "text", t0);
    bad.write(log_level::error, "cause", "text", t0);
    bad.flush(t0 + 2s);
}

BOOST_AUTO_TEST_SUITE_END()
