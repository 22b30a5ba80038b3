// Journals that something has changed: the run that goes on counts every duplicate, or is refused, and the way out
// that the guide tells loses nothing.

#include "redrive/mortal.hpp"

#include <quern/sim/dice.hpp>

#include <algorithm>

using namespace quern;
using namespace quern::test;

namespace {

using sim::dice;

std::size_t place_in(std::string const& text, dice& d)
{
    return static_cast<std::size_t>(d.between(0, static_cast<int>(text.size()) - 1));
}

std::vector<std::string> lines_in(std::string const& text)
{
    std::vector<std::string> out;
    for (std::size_t at = 0; at < text.size();) {
        auto const end = std::min(text.find('\n', at), text.size() - 1) + 1;
        out.push_back(text.substr(at, end - at));
        at = end;
    }
    return out;
}

/// The same lines, but for one that is gone, doubled, or has changed places.
std::string reordered(std::string const& text, dice& d)
{
    auto all = lines_in(text);
    auto const at = static_cast<std::ptrdiff_t>(d.between(0, static_cast<int>(all.size()) - 1));
    auto const other = static_cast<std::ptrdiff_t>(d.between(0, static_cast<int>(all.size()) - 1));
    switch (d.between(0, 2)) {
    case 0: all.erase(all.begin() + at); break;
    case 1: all.insert(all.begin() + at, all[static_cast<std::size_t>(at)]); break;
    default: std::iter_swap(all.begin() + at, all.begin() + other);
    }
    std::string out;
    for (auto const& line : all)
        out += line;
    return out;
}

/// The text as an editor, a disk or a copy may leave it.
std::string corrupted(std::string text, dice& d)
{
    auto const at = place_in(text, d);
    auto const length = static_cast<std::size_t>(d.between(1, 60));
    switch (d.between(0, 8)) {
    case 0: text[at] = static_cast<char>(text[at] ^ (1 << d.between(0, 7))); break;
    case 1: text.replace(at, length, std::string(std::min(length, text.size() - at), '\0')); break;
    case 2: text.insert(at, std::string(length, static_cast<char>(d.between(0, 127)))); break;
    case 3: text.erase(at, length); break;
    case 4: text.resize(at); break;
    case 5: text.insert(0, "\xef\xbb\xbf"); break;
    case 6:
        for (auto end = text.find('\n'); end != text.npos; end = text.find('\n', end + 2))
            text.insert(end, 1, '\r');
        break;
    case 7: text += std::string(length, 'x') + (d.one_in(2) ? "\n" : ""); break;
    default: return reordered(text, d);
    }
    return text;
}

struct damaged_yard : yard {
    using yard::yard;

    static constexpr int messages = 6;
    int refused_journals = 0, accepted_journals = 0;

    /// Lets a run go as far as it does, on that journal.
    void work(disk& d, int dies_at)
    {
        life one(engine, time, d, options, dies_at);
        BOOST_REQUIRE(time.run_until_done(one.io, 24h, [&] { return one.end.is_dead || one.report.has_value(); }));
        if (!one.end.is_dead) BOOST_REQUIRE(one.report->has_value());
    }

    void check(std::uint64_t seed)
    {
        dice d(seed);
        kill(messages);
        disk kept;
        while (kept.text.empty())
            work(kept, static_cast<int>(d.between(1, 60)));
        kept.text = corrupted(std::move(kept.text), d);
        doom nobody;
        auto const opened = redrive::journal::open(std::make_unique<mortal_file>(kept, nobody));
        std::size_t most_twice = options.concurrency;
        if (opened) {
            ++accepted_journals;
            using phase = redrive::run_book::phase;
            if (opened->book().now() != phase::succeeded) work(kept, 0);
            auto const book = redrive::read_journal(kept.text).value();
            most_twice = book.counts().maybe_twice;
            BOOST_TEST((book.now() == phase::succeeded));
        } else { // with another --name
            ++refused_journals;
            BOOST_TEST(!opened.error().message.empty());
            disk anew;
            work(anew, 0);
        }
        BOOST_TEST(all(dead) == 0);
        auto const there = bodies(orders);
        BOOST_TEST(there.size() == std::size_t(messages)); // lost: none
        std::size_t twice = 0;
        for (auto const& [body, times] : there)
            twice += static_cast<std::size_t>(times - 1);
        BOOST_TEST(twice <= most_twice);
    }

    void check_all(std::uint64_t count)
    {
        options.concurrency = 3;
        for (std::uint64_t seed = 1; seed <= count; ++seed) {
            BOOST_TEST_CONTEXT("seed " << seed)
            {
                check(seed);
            }
        }
        BOOST_TEST(refused_journals > 0);
        BOOST_TEST(accepted_journals > 0);
    }
};

struct damaged_fifo_yard : damaged_yard {
    damaged_fifo_yard() : damaged_yard(".fifo") {}
};

} // namespace

BOOST_AUTO_TEST_SUITE(redrive_of_a_corrupted_journal)

BOOST_FIXTURE_TEST_CASE(counts_every_duplicate_or_is_refused, damaged_yard)
{
    check_all(200);
}

BOOST_FIXTURE_TEST_CASE(does_so_of_a_fifo_queue_too, damaged_fifo_yard)
{
    check_all(100);
}

BOOST_AUTO_TEST_SUITE_END()
