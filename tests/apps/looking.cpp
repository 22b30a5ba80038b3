#include "quern/redrive/looking.hpp"

#include <redrive/yard.hpp>

#include <set>

using namespace quern;
using namespace quern::app;
using namespace quern::test;

namespace {

/// A look at the dead letters, by somebody who needs some time for each receive.
struct looking_yard : yard {
    bool told = false, killed = false;
    looking look{api, dead, [this] { return told; }, time};
    std::set<std::string> ids;
    std::size_t received = 0, hidden = 0;
    std::optional<failure> wrong;
    bool ended = false;

    asio::awaitable<void> look_at_all(std::chrono::milliseconds each)
    {
        quern::alarm pause(time, io.get_executor());
        for (int empty = 0; empty < 2 && !told && !wrong;) {
            auto const until = time.now() + each;
            co_await pause.wait(until);
            auto const got = co_await look.receive(10);
            if (!got) wrong = got.error();
            if (!got) break;
            if (killed) co_return;
            received += got->messages.size();
            auto const before = ids.size();
            for (auto const& m : got->messages)
                ids.emplace(m.id);
            empty = ids.size() == before ? empty + 1 : 0;
        }
        hidden = co_await look.give_back();
    }

    void begin(std::chrono::milliseconds each)
    {
        asio::co_spawn(io, look_at_all(each), [this](std::exception_ptr bug) {
            if (bug) std::rethrow_exception(bug);
            ended = true;
        });
    }

    void fill(int count)
    {
        for (int i = 0; i < count; ++i)
            send(dead, letter(dead, "m" + std::to_string(i)));
    }

    int calls(char const* of) { return api.calls[of]; }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(looks, looking_yard)

// Each message was hidden for 15 minutes at once, and stayed so when the command was killed.
BOOST_AUTO_TEST_CASE(what_it_has_received_is_hidden_for_30_s_when_it_is_killed)
{
    fill(100);
    begin(100ms);
    time.run_for(io, 500ms);
    BOOST_TEST(in_flight(dead) >= 40);
    killed = true;
    time.run_for(io, 31s);
    BOOST_TEST(count(dead) == 100);
}

BOOST_AUTO_TEST_CASE(a_long_look_sees_each_message_once_and_nobody_else_sees_one)
{
    fill(3'000);
    begin(2s); // ten minutes
    BOOST_TEST(until(2h, [this] { return ended; }));
    BOOST_TEST(!wrong.has_value());
    BOOST_TEST(ids.size() == 3'000u);
    BOOST_TEST(received == 3'000u);
    BOOST_TEST(hidden == 0u);
    BOOST_TEST(count(dead) == 3'000);
    // Extended every twenty seconds, they would have cost 4,500 requests.
    auto const extended = calls("ChangeMessageVisibilityBatch") - 300; // and given back
    BOOST_TEST(extended > 300);
    BOOST_TEST(extended < 750);
}

BOOST_AUTO_TEST_CASE(told_to_end_it_extends_and_receives_nothing_more_and_gives_all_back)
{
    fill(200);
    begin(1s);
    time.run_for(io, 15s);
    BOOST_TEST(in_flight(dead) >= 100);
    told = true;
    auto const before = calls("ReceiveMessage");
    BOOST_TEST(until(5s, [this] { return ended; }));
    BOOST_TEST(calls("ReceiveMessage") == before);
    BOOST_TEST(count(dead) == 200);
    BOOST_TEST(look.requests() == std::size_t(before + calls("ChangeMessageVisibilityBatch")));
}

BOOST_AUTO_TEST_CASE(what_could_not_be_extended_comes_to_light_and_is_held_again)
{
    fill(30);
    int failures = 0;
    api.before = fails("ChangeMessageVisibilityBatch", errc::timed_out, [&] { return failures++ == 0; });
    begin(8s); // received at 8 s, the first ten are to be extended at 32 s, which fails, and are visible at 38 s
    BOOST_TEST(until(10min, [this] { return ended; }));
    BOOST_TEST(ids.size() == 30u);
    BOOST_TEST(received == 40u);
    BOOST_TEST(hidden == 0u);
    BOOST_TEST(count(dead) == 30);
}

BOOST_AUTO_TEST_CASE(giving_back_ends_when_sqs_is_gone)
{
    fill(200);
    begin(100ms);
    api.before = fails("ChangeMessageVisibilityBatch", errc::timed_out);
    BOOST_TEST(until(10min, [this] { return ended; }));
    BOOST_TEST(hidden == 200u);
    BOOST_TEST(calls("ChangeMessageVisibilityBatch") == 2);
}

BOOST_AUTO_TEST_SUITE_END()
