// Days of a dead-letter queue: a producer, a consumer that fails and recovers, outages, lost answers, and redrives with a
// journal that are killed. Every message ends where the policy says.

#include "redrive/mortal.hpp"

#include <quern/sim/dice.hpp>

#include <cstdlib>

using namespace quern;
using namespace quern::test;

namespace {

/// A message's body begins with its fate: it is never handled, only once it was redriven, only when the consumer is well
/// again, or at once.
enum fate : char { never = 'n', once = 'o', later = 'l', good = 'g' };

struct day : yard {
    sim::dice drawn;
    bool is_well = false;
    int born = 0;
    std::map<std::string, int> handled;
    std::size_t maybe_twice = 0;
    int kills = 0, runs = 0;

    explicit day(std::uint64_t seed) : drawn(seed)
    {
        options.poison_url = poison;
        options.seed = seed + 1;
        options.plan.max_attempts = static_cast<int>(drawn.between(1, 3));
        options.plan.delay_base = std::chrono::seconds(drawn.between(0, 120));
        options.concurrency = static_cast<std::size_t>(drawn.between(1, 12));
        options.cutoff = drawn.one_in(2);
        sqs::set_queue_attributes_request longer(dead, {{"MessageRetentionPeriod", "1209600"}});
        engine.set_queue_attributes(longer, time.wall()).value();
        if (drawn.one_in(5)) {
            options.plan.waits = true;
            options.plan.delay_base = std::chrono::hours(drawn.between(1, 5));
            options.plan.delay_max = 14h;
            options.plan.jitter = policy::jitter::full;
            options.wait_time = 20s;
        }
    }

    void produce(std::int64_t count)
    {
        static constexpr fate fates[] = {never, once, later, good};
        for (std::int64_t i = 0; i < count; ++i)
            send(orders, letter(orders, std::string(1, fates[drawn.between(0, 3)]) + std::to_string(born++)));
    }

    bool succeeds(sqs::message const& m) const
    {
        switch (m.body.front()) {
        case never: return false;
        case once: return m.attribute("x-redrive-attempt") != nullptr;
        case later: return is_well;
        default: return true;
        }
    }

    /// The consumer: what fails is dead at its next receive.
    void work()
    {
        sqs::receive_message_request ask(orders);
        ask.max_messages = 10;
        ask.visibility_timeout = 0s;
        ask.wait_time = 0s;
        ask.attribute_names = {"All"};
        while (count(orders) != 0) {
            auto const got = engine.receive_message(ask, time.wall()).value();
            for (auto const& m : got.answer.messages) {
                if (!succeeds(m)) continue;
                ++handled[std::string(m.body)];
                sqs::delete_message_request gone(orders, std::string(m.receipt_handle));
                engine.delete_message(gone, time.wall()).value();
            }
        }
    }

    /// One process, to its end or its kill.
    void live(disk& d)
    {
        life one(engine, time, d, options, drawn.one_in(2) ? static_cast<int>(drawn.between(1, 80)) : 0);
        auto const outage = time.now() + drawn.between(0ms, 3min), over = outage + drawn.between(0ms, 4min);
        one.api.before = [&](std::string_view) {
            std::optional<failure> out;
            if (time.now() >= outage && time.now() < over) out = failure(errc::connection_lost, "outage", true);
            return out;
        };
        one.api.after = [&](std::string_view operation) {
            std::optional<failure> out;
            bool const counts = operation == "SendMessageBatch" || operation == "DeleteMessageBatch";
            if (counts && drawn.one_in(30)) out = failure(errc::connection_lost, "the answer is lost", true);
            return out;
        };
        auto const ended = [&] { return one.end.is_dead || one.report.has_value(); };
        for (int slices = 0; !ended() && slices < 50'000; ++slices) {
            time.run_until_done(one.io, 30s, ended);
            work();
            if (born < 60 && drawn.one_in(10)) produce(drawn.between(1, 3));
        }
        BOOST_TEST(ended());
        if (one.end.is_dead) ++kills;
    }

    /// One redrive, to its end.
    void redrive()
    {
        disk d;
        redrive::run_book book;
        for (int lives = 0; lives < 40 && book.now() != redrive::run_book::phase::succeeded; ++lives) {
            live(d);
            std::size_t torn = 0;
            book = redrive::read_journal(d.text, &torn).value();
        }
        BOOST_TEST(book.now() == redrive::run_book::phase::succeeded);
        auto const counts = book.counts();
        BOOST_TEST(counts.deleted == counts.redriven + counts.isolated);
        BOOST_TEST(counts.unknown == 0u);
        maybe_twice += counts.maybe_twice;
        ++runs;
    }

    void pass()
    {
        produce(drawn.between(10, 40));
        work();
        auto const well_after = drawn.between(1, 4);
        for (int round = 0; round < 20; ++round) {
            is_well = round >= well_after;
            redrive();
            time.run_for(io, 20min); // what is delayed
            work();
            if (is_well && all(dead) + all(orders) == 0) break;
        }
        judge();
    }

    void judge()
    {
        BOOST_TEST(all(dead) == 0);
        BOOST_TEST(all(orders) == 0);
        std::map<std::string, int> poisoned;
        for (auto const& m : take(poison)) {
            ++poisoned[m.body];
            BOOST_TEST(m.attributes.at("x-redrive-attempt").value == std::to_string(options.plan.max_attempts));
        }
        std::size_t ends = 0;
        std::map<std::string, int> all_ends = handled;
        for (auto const& [body, count] : poisoned)
            all_ends[body] += count;
        BOOST_TEST(all_ends.size() == static_cast<std::size_t>(born)); // lost: none
        for (auto const& [body, count] : all_ends) {
            ends += static_cast<std::size_t>(count);
            bool const is_poison = poisoned.contains(body), is_handled = handled.contains(body);
            if (body.front() == never) BOOST_TEST((is_poison && !is_handled), body);
            if (body.front() == once || body.front() == good) BOOST_TEST((is_handled && !is_poison), body);
        }
        BOOST_TEST(ends - all_ends.size() <= maybe_twice); // each second one was marked
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(redrive_days)

// QUERN_REDRIVE_DAYS=2000 for more of them.
BOOST_AUTO_TEST_CASE(every_message_ends_where_the_policy_says)
{
    auto const* const wanted = std::getenv("QUERN_REDRIVE_DAYS");
    std::uint64_t const days = wanted ? std::strtoull(wanted, nullptr, 10) : 60; // 45 once lost track of a send
    int kills = 0, runs = 0;
    for (std::uint64_t seed = 1; seed <= days; ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed)
        {
            day one(seed);
            one.pass();
            kills += one.kills;
            runs += one.runs;
        }
    }
    BOOST_TEST_MESSAGE(days << " days, " << runs << " redrives, " << kills << " kills");
    BOOST_TEST(kills > static_cast<int>(days));
}

BOOST_AUTO_TEST_SUITE_END()
