#include "scripted_service.hpp"

#include <quern/aws/credentials/cached_credentials.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/test/unit_test.hpp>

// Where a call's credentials come from, and what becomes of it when they don't.

namespace aws = quern::aws;
using namespace quern;
using namespace quern::test;

namespace {

/// Hands out SOURCE1, SOURCE2, ..; or SOURCE1 for ever.
class counting final : public aws::credentials_source {
public:
    explicit counting(bool goes_on) : goes_on_(goes_on) {}

    asio::awaitable<result<aws::credentials>> load() override
    {
        if (goes_on_ || loads_ == 0) ++loads_;
        co_return aws::credentials{"SOURCE" + std::to_string(loads_), "s", "t"};
    }

private:
    bool goes_on_;
    int loads_ = 0;
};

/// A vault that nobody opens.
class hanging final : public aws::credentials_provider {
public:
    asio::awaitable<result<aws::shared_credentials>> get() override
    {
        ++times_asked;
        if (on_asked) on_asked();
        if (is_deaf) co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
        asio::steady_timer never(co_await asio::this_coro::executor, tick::max());
        open = [&never] { never.cancel(); };
        auto const [ec] = co_await never.async_wait(asio::as_tuple(asio::use_awaitable));
        open = nullptr;
        if (ec) ++cancelled;
        co_return failure(errc::stopped, "cancelled");
    }

    bool is_deaf = false;
    std::function<void()> on_asked, open;
    int times_asked = 0, cancelled = 0;
};

/// Does something before it answers, after a turn.
class busy final : public aws::credentials_provider {
public:
    asio::awaitable<result<aws::shared_credentials>> get() override
    {
        co_await asio::post(asio::use_awaitable);
        auto out = does();
        co_return out;
    }
    std::function<result<aws::shared_credentials>()> does;
};

aws::shared_credentials some_keys()
{
    return std::make_shared<aws::credentials const>(aws::credentials{"AKID", "s", ""});
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(call_keys, scripted_service)

BOOST_AUTO_TEST_CASE(expired_credentials_are_renewed_once)
{
    keys->left.push_back(std::make_shared<aws::credentials const>(aws::credentials{"AKID2", "s", ""}));
    keys->left.push_back(std::make_shared<aws::credentials const>(aws::credentials{"AKID3", "s", ""}));
    script = {
        error(403, "ExpiredTokenException"), reply(200), error(403, "ExpiredToken"), error(403, "ExpiredToken")};
    BOOST_TEST(call().has_value());
    BOOST_TEST(was_asked(0, "Credential=AKID1/"));
    BOOST_TEST(was_asked(1, "Credential=AKID2/"));
    BOOST_TEST(call().error().service_code == "ExpiredToken");
    BOOST_TEST(asked.size() == 4u);
    BOOST_TEST(time.waits.empty());
}

BOOST_AUTO_TEST_CASE(a_source_is_asked_before_the_first_call_and_when_its_credentials_are_refused)
{
    use(aws::cached_credentials(io.get_executor(), std::make_unique<counting>(true), time));
    script = {reply(200), error(403, "ExpiredTokenException"), reply(200), error(403, "ExpiredTokenException")};
    BOOST_TEST(call().has_value());
    BOOST_TEST(was_asked(0, "Credential=SOURCE1/"));
    BOOST_TEST(call().has_value());
    BOOST_TEST(was_asked(1, "Credential=SOURCE1/"));
    BOOST_TEST(was_asked(2, "Credential=SOURCE2/"));
    auto const again = call().error(); // so soon: asking has not helped, and may later
    BOOST_TEST(again.service_code == "ExpiredTokenException");
    BOOST_TEST(again.retryable);
    BOOST_TEST(asked.size() == 4u);
    BOOST_TEST(time.waits.empty());
}

BOOST_AUTO_TEST_CASE(expired_credentials_without_others_end_the_call)
{
    script = {error(403, "ExpiredTokenException"), reply(200)};
    BOOST_TEST(call().error().service_code == "ExpiredTokenException");
    script = {error(403, "ExpiredTokenException")};
    use(aws::static_credentials({"AKID", "s", ""}));
    BOOST_TEST(!call().error().retryable);
}

// Producers gave messages up, since a call refused within a minute of a renewal was said to be refused for good.
BOOST_AUTO_TEST_CASE(only_what_comes_again_unchanged_is_refused_for_good)
{
    use(aws::cached_credentials(io.get_executor(), std::make_unique<counting>(false), time));
    script = {error(403, "ExpiredTokenException"), error(403, "ExpiredTokenException")};
    auto const got = call().error();
    BOOST_TEST(got.service_code == "ExpiredTokenException");
    BOOST_TEST(!got.retryable);
    BOOST_TEST(asked.size() == 2u);
}

BOOST_AUTO_TEST_CASE(without_credentials_nothing_is_sent)
{
    keys->left.clear();
    BOOST_TEST(call().error().code == errc::no_credentials);
    BOOST_TEST(asked.empty());
}

BOOST_AUTO_TEST_CASE(a_cancellation_between_two_operations_ends_with_stopped)
{
    // Terminal cancellation that arrives while nothing is under way is thrown by the next co_await.
    class late final : public aws::credentials_provider {
    public:
        asio::awaitable<result<aws::shared_credentials>> get() override
        {
            cancel();
            auto const ex = co_await asio::this_coro::executor;
            co_await asio::post(ex, asio::use_awaitable);
            co_await asio::post(ex, asio::use_awaitable);
            co_return std::make_shared<aws::credentials const>(aws::credentials{"AKID", "s", ""});
        }
        std::function<void()> cancel;
    };
    auto const provider = std::make_shared<late>();
    use(provider);
    BOOST_TEST(cancelled_call(provider->cancel).error().code == errc::stopped);
    BOOST_TEST(asked.empty());
}

// A vault that hung made every call hang, whatever its timeout.
BOOST_AUTO_TEST_CASE(credentials_are_waited_for_no_longer_than_an_attempt_may_take)
{
    time.loses_patience = true;
    for (bool const is_deaf : {false, true}) {
        time.waits.clear();
        auto const vault = std::make_shared<hanging>();
        vault->is_deaf = is_deaf;
        use(vault);
        auto const got = call();
        BOOST_REQUIRE(!got.has_value());
        BOOST_TEST(got.error().code == errc::timed_out);
        BOOST_TEST(got.error().retryable);
        BOOST_TEST(got.error().message == "deadline passed while waiting for credentials");
        BOOST_TEST(vault->times_asked == 3);
        BOOST_TEST(time.waits == (std::vector<nanoseconds>{10s, 1s, 10s, 2s, 10s}));
        io.restart();
        io.poll();
        BOOST_TEST(vault->cancelled == (is_deaf ? 0 : 3));
        if (is_deaf) vault->open(); // too late
    }
    io.restart();
    io.poll();
    BOOST_TEST(asked.empty());
}

BOOST_AUTO_TEST_CASE(what_the_credentials_took_is_missing_to_the_request_but_not_to_a_long_poll)
{
    auto const slow = std::make_shared<busy>();
    retries.max_attempts = 1;
    use(slow);
    aws::detail::call_options how;
    how.timeout = 1h;
    slow->does = [&] {
        time.elapsed += 1h - 10ms;
        return some_keys();
    };
    script = {"silence"};
    auto const late = call(how).error(); // and this test's own time limit is far below an hour
    BOOST_TEST((late.code == errc::timed_out || late.code == errc::connect_failed)); // as far as it got in 10 ms

    slow->does = [&] {
        time.elapsed += 1h - 1ns;
        return some_keys();
    };
    script = {reply(200)};
    how.long_poll = true;
    auto const polled = call(how);
    BOOST_TEST(polled.has_value(), describe(polled.error()));
}

BOOST_AUTO_TEST_CASE(credentials_that_may_come_are_asked_for_again_after_their_cache_has_paused)
{
    auto const recovering = std::make_shared<busy>();
    int times_asked = 0;
    recovering->does = [&]() -> result<aws::shared_credentials> {
        if (++times_asked < 3) return failure(errc::no_credentials, "STS is unwell", true);
        return some_keys();
    };
    use(recovering);
    script = {reply(200)};
    BOOST_TEST(call().has_value());
    BOOST_TEST(time.waits == (std::vector<nanoseconds>{1s, 2s}));
}

// The first attempt may have been carried out, and the caller was told that there was nothing to sign with.
BOOST_AUTO_TEST_CASE(what_may_have_been_carried_out_is_not_forgotten_when_the_next_attempt_finds_no_credentials)
{
    auto const fading = std::make_shared<busy>();
    bool is_gone = false;
    fading->does = [&]() -> result<aws::shared_credentials> {
        if (std::exchange(is_gone, true)) return failure(errc::no_credentials, "the file has vanished");
        return some_keys();
    };
    use(fading);
    script = {""};
    auto const got = call();
    BOOST_REQUIRE(!got.has_value());
    BOOST_TEST(asked.size() == 1u);
    BOOST_TEST(got.error().code == errc::connection_lost);
    BOOST_TEST(got.error().message.ends_with("; then the file has vanished"));
}

// close() left calls hanging that waited for the program's own provider, or for their next attempt.
BOOST_AUTO_TEST_CASE(closing_ends_the_wait_for_credentials)
{
    auto const vault = std::make_shared<hanging>();
    vault->on_asked = [&] { asio::post(io, [&] { service->close(); }); };
    use(vault);
    auto const got = call();
    BOOST_TEST(got.error().code == errc::stopped);
    BOOST_TEST(got.error().message == "the client was closed while waiting for credentials");
    BOOST_TEST(call().error().code == errc::stopped);
    BOOST_TEST(vault->times_asked == 1);
}

BOOST_AUTO_TEST_CASE(closing_ends_the_pause_between_two_attempts)
{
    script = {error(500, "A"), reply(200)};
    time.stuck = [&] { asio::post(io, [&] { service->close(); }); };
    auto const got = call();
    BOOST_TEST(got.error().code == errc::stopped);
    BOOST_TEST(got.error().message == "the client was closed between two attempts");
    BOOST_TEST(asked.size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
