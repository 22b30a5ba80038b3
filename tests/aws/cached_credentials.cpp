#include <quern/aws/credentials/cached_credentials.hpp>
#include <quern/sim/virtual_clock.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include <deque>
#include <stdexcept>

namespace asio = boost::asio;
namespace aws = quern::aws;
using namespace quern;
using namespace std::chrono_literals;
using keys = aws::shared_credentials;

namespace {

/// The calls that a source saw, and its answers to come. Repeats its last answer.
struct script {
    std::deque<result<aws::credentials>> answers;
    std::chrono::milliseconds latency{0};
    bool throws = false;
    int loads = 0;
    int cancelled = 0;
};

class scripted final : public aws::credentials_source {
public:
    scripted(script& s, quern::clock& time, asio::any_io_executor ex)
        : script_(s), timer_(time.make_timer(ex)), time_(time)
    {}

    asio::awaitable<result<aws::credentials>> load() override
    {
        ++script_.loads;
        if (script_.throws) throw std::runtime_error("boom");
        if (script_.latency.count() > 0) {
            auto const slept = co_await timer_->wait_until(time_.now() + script_.latency);
            if (!slept) ++script_.cancelled;
            if (!slept) co_return failure(errc::stopped, "cancelled");
        }
        auto answer = script_.answers.front();
        if (script_.answers.size() > 1) script_.answers.pop_front();
        co_return answer;
    }

private:
    script& script_;
    std::unique_ptr<timer> timer_;
    quern::clock& time_;
};

struct fixture {
    sim::virtual_clock time;
    asio::io_context io;
    script source;
    std::shared_ptr<aws::credentials_provider> provider = aws::cached_credentials(
        io.get_executor(), std::make_unique<scripted>(source, time, io.get_executor()), time, [] { return 1.0; });
    std::deque<result<keys>> got;

    aws::credentials until(std::string id, std::chrono::seconds lifetime)
    {
        return {std::move(id), "secret", "token", time.wall() + lifetime};
    }

    void ask(asio::cancellation_slot slot = {})
    {
        auto const done = [this](std::exception_ptr thrown, result<keys> value) {
            if (thrown) std::rethrow_exception(thrown);
            got.push_back(std::move(value));
        };
        asio::co_spawn(io, provider->get(), asio::bind_cancellation_slot(slot, done));
    }

    void pass(tick::duration d) { time.run_for(io, d); }

    std::string id() { return provider->at_hand() ? provider->at_hand()->access_key_id : ""; }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(cached_credentials, fixture)

BOOST_AUTO_TEST_CASE(all_who_ask_at_first_wait_for_one_load)
{
    source.answers = {until("A", 1h)};
    source.latency = 200ms;
    BOOST_TEST(!provider->at_hand());
    for (int i = 0; i < 100; ++i)
        ask();
    pass(1s);
    BOOST_TEST(source.loads == 1);
    BOOST_REQUIRE(got.size() == 100u);
    for (auto const& one : got)
        BOOST_TEST((one.has_value() && one->get() == got[0]->get()));
    BOOST_TEST(provider->at_hand().get() == got[0]->get());
}

BOOST_AUTO_TEST_CASE(a_source_that_answers_at_once_makes_nobody_wait)
{
    source.answers = {aws::credentials{"A", "secret", ""}};
    ask();
    pass(0s);
    BOOST_REQUIRE(got.size() == 1u);
    BOOST_TEST((*got[0])->access_key_id == "A");
}

BOOST_AUTO_TEST_CASE(while_new_ones_are_on_their_way_the_old_ones_are_used)
{
    source.answers = {until("A", 1h), until("B", 3h)};
    ask();
    pass(45min - 1s);
    BOOST_TEST(id() == "A");
    BOOST_TEST(source.loads == 1);
    pass(1s);
    source.latency = 5s;
    BOOST_TEST(id() == "A");
    pass(4s);
    BOOST_TEST(id() == "A");
    BOOST_TEST(source.loads == 2);
    pass(1s);
    BOOST_TEST(id() == "B");
}

BOOST_AUTO_TEST_CASE(nothing_is_loaded_while_nobody_asks)
{
    source.answers = {until("A", 1h)};
    ask();
    pass(10h);
    BOOST_TEST(source.loads == 1);
}

BOOST_AUTO_TEST_CASE(a_failing_source_is_asked_with_pauses_and_its_reason_is_told_meanwhile)
{
    source.answers = {failure(errc::no_credentials, "nothing here")};
    for (int second = 0; second < 60; ++second) {
        for (int i = 0; i < 10; ++i)
            ask();
        pass(1s);
    }
    BOOST_REQUIRE(got.size() == 600u);
    for (auto const& one : got)
        BOOST_TEST((!one && one.error().message == "nothing here" && !one.error().retryable));
    BOOST_TEST(source.loads == 7); // pauses of 0.5, 1, 2, 4, 8, 16, 30 s
    source.answers = {until("A", 1h)};
    pass(30s);
    ask();
    pass(1s);
    BOOST_TEST(got.back().has_value());
}

BOOST_AUTO_TEST_CASE(once_there_have_been_some_their_loss_may_pass)
{
    source.answers = {until("A", 1h), failure(errc::no_credentials, "gone")};
    ask();
    pass(1h);
    ask();
    pass(1s);
    BOOST_REQUIRE(!got.back());
    BOOST_TEST(got.back().error().retryable);
}

BOOST_AUTO_TEST_CASE(what_comes_expired_or_broken_is_not_used)
{
    source.answers = {until("A", 5s), aws::credentials{"A", "hidden\n", ""}, aws::credentials{}};
    for (int i = 0; i < 3; ++i) {
        ask();
        pass(1min);
    }
    BOOST_REQUIRE(got.size() == 3u);
    BOOST_TEST(got[0].error().message.starts_with("the credentials that came have expired"));
    BOOST_TEST(got[1].error().message.starts_with("the credentials are unusable: a line break"));
    BOOST_TEST(got[1].error().message.find("hidden") == std::string::npos);
    BOOST_TEST(got[2].error().message == "the credentials are unusable: the access key is missing");
}

BOOST_AUTO_TEST_CASE(an_exception_of_the_source_is_a_failure)
{
    source.throws = true;
    ask();
    pass(1s);
    BOOST_REQUIRE(got.size() == 1u);
    BOOST_TEST(got[0].error().message == "the source of credentials failed: boom");
    source.throws = false;
    source.answers = {until("A", 1h)};
    ask();
    pass(1s);
    BOOST_TEST(got.back().has_value());
}

BOOST_AUTO_TEST_CASE(refused_ones_are_loaded_again_once_however_many_say_so)
{
    source.answers = {until("A", 6h), until("B", 6h)};
    ask();
    pass(1s);
    auto const refused = *got[0];
    source.latency = 1s;
    for (int i = 0; i < 50; ++i) {
        BOOST_TEST(provider->renew(refused) == aws::renewal::now);
        BOOST_TEST(!provider->at_hand());
        ask();
    }
    pass(1s);
    BOOST_TEST(source.loads == 2);
    BOOST_TEST((*got.back())->access_key_id == "B");
    BOOST_TEST(provider->renew(refused) == aws::renewal::now); // a late answer: others are there
    BOOST_TEST(id() == "B");
    BOOST_TEST(provider->renew(*got.back()) == aws::renewal::later); // these too, so soon: it is not their age
    BOOST_TEST(id() == "B");
    BOOST_TEST(source.loads == 2);
}

// The keys of an environment variable, say: nobody will change those.
BOOST_AUTO_TEST_CASE(refused_ones_that_come_again_are_taken_for_static_unless_they_end)
{
    for (bool const ends : {false, true}) {
        aws::credentials same{"A", "secret", "token"};
        if (ends) same.expires_at = time.wall() + 6h;
        source.answers = {same};
        got.clear();
        for (int i = 0; i < 2; ++i) {
            ask();
            pass(1s);
            auto const expected = i == 0 ? aws::renewal::now : ends ? aws::renewal::later : aws::renewal::never;
            BOOST_TEST(provider->renew(*got.back()) == expected);
        }
        pass(10min);
    }
}

// Files were opened, and processes started, in the middle of whoever found that it was time.
BOOST_AUTO_TEST_CASE(a_load_never_begins_within_the_call_that_finds_it_due)
{
    source.answers = {until("A", 1h), until("B", 3h)};
    ask();
    pass(45min);
    asio::post(io, [this] {
        BOOST_TEST(id() == "A");
        BOOST_TEST(source.loads == 1);
    });
    pass(0s);
    BOOST_TEST(source.loads == 2);
    BOOST_TEST(id() == "B");
}

BOOST_AUTO_TEST_CASE(a_source_that_never_answers_is_asked_again_after_five_minutes)
{
    source.answers = {until("A", 6h)};
    source.latency = 24h;
    for (int minute = 0; minute < 6; ++minute) {
        ask();
        pass(1min);
    }
    BOOST_TEST(source.cancelled == 1);
    BOOST_REQUIRE(got.size() == 6u); // all waited for the same
    for (auto const& one : got) {
        BOOST_TEST(one.error().code == errc::timed_out);
        BOOST_TEST(one.error().retryable);
    }
    source.latency = 1s;
    ask();
    pass(1s);
    BOOST_TEST(got.back().has_value());
    BOOST_TEST(source.loads == 2);
}

BOOST_AUTO_TEST_CASE(one_who_stops_waiting_leaves_the_load_to_the_others)
{
    source.answers = {until("A", 1h)};
    source.latency = 1s;
    asio::cancellation_signal stop;
    ask(stop.slot());
    ask();
    pass(500ms);
    stop.emit(asio::cancellation_type::terminal);
    pass(0s);
    BOOST_REQUIRE(got.size() == 1u);
    BOOST_TEST(got[0].error().code == errc::stopped);
    pass(1s);
    BOOST_REQUIRE(got.size() == 2u);
    BOOST_TEST(got[1].has_value());
    BOOST_TEST(source.cancelled == 0);
}

BOOST_AUTO_TEST_CASE(destroying_the_provider_ends_the_load_and_those_who_wait)
{
    source.answers = {until("A", 1h)};
    source.latency = 1h;
    ask();
    pass(1s);
    provider.reset();
    pass(0s);
    BOOST_TEST(source.cancelled == 1);
    BOOST_REQUIRE(got.size() == 1u);
    BOOST_TEST(got[0].error().code == errc::stopped);
}

BOOST_AUTO_TEST_SUITE_END()
