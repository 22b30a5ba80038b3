#include <quern/aws/cached_credentials.hpp>
#include <quern/aws/call.hpp>

#include "support/loopback.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include <deque>

namespace asio = boost::asio;
namespace aws = quern::aws;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;
using std::chrono::nanoseconds;

namespace {

wall_time const start = *aws::parse_timestamp("20260102T030405Z");
constexpr auto an_hour_later = "date: Fri, 02 Jan 2026 04:04:05 GMT\r\n";

/// A wait on it ends at once, and moves both clocks by its length; or, once `stuck`, never.
class test_clock final : public quern::clock {
public:
    tick now() const override { return tick() + elapsed; }
    wall_time wall() const override { return start + std::chrono::duration_cast<wall_time::duration>(elapsed); }
    std::unique_ptr<timer> make_timer(asio::any_io_executor ex) override
    {
        return std::make_unique<instant>(*this, real_clock().make_timer(ex));
    }

    nanoseconds elapsed{};
    std::vector<nanoseconds> waits;
    std::function<void()> stuck;

private:
    class instant final : public timer {
    public:
        instant(test_clock& owner, std::unique_ptr<timer> real) : owner_(owner), real_(std::move(real)) {}
        asio::awaitable<bool> wait_until(tick at) override
        {
            if (at == tick::max()) co_return co_await real_->wait_until(at); // for somebody to ring
            owner_.waits.push_back(at - owner_.now());
            if (owner_.stuck) {
                owner_.stuck();
                co_return co_await real_->wait_until(tick::max());
            }
            owner_.elapsed = at - tick();
            co_return true;
        }
        void cancel() override { real_->cancel(); }

    private:
        test_clock& owner_;
        std::unique_ptr<timer> real_;
    };
};

/// Hands out the first of its keys; renew() goes on to the next.
class rotating_keys final : public aws::credentials_provider {
public:
    asio::awaitable<result<aws::shared_credentials>> get() override
    {
        if (left.empty()) co_return failure(errc::no_credentials, "none");
        co_return left.front();
    }
    bool renew(aws::shared_credentials const& refused) override
    {
        if (left.size() < 2 || left.front() != refused) return false;
        left.pop_front();
        return true;
    }
    std::deque<aws::shared_credentials> left;
};

std::string reply(int status, std::string const& headers = "", std::string const& body = "{}")
{
    return http_reply(body, "HTTP/1.1 " + std::to_string(status) + " X\r\n" + headers + "x-amzn-requestid: r");
}

std::string error(
    int status, std::string const& type, std::string const& headers = "", std::string const& message = "why")
{
    return reply(status, headers, R"({"__type":"a#)" + type + R"(","message":")" + message + "\"}");
}

/// A service that answers from a script and remembers what it was asked. An empty text hangs up.
struct fixture {
    asio::io_context io;
    loopback server{io};
    test_clock time;
    std::shared_ptr<rotating_keys> keys = std::make_shared<rotating_keys>();
    aws::retry_options retries;
    std::deque<std::string> script;
    std::vector<std::string> asked;
    net::client http{io.get_executor(), net::parse_endpoint(server.url()).value()};
    std::optional<aws::json_service> service;

    fixture()
    {
        keys->left.push_back(std::make_shared<aws::credentials const>(aws::credentials{"AKID1", "s", ""}));
        play(io, serve());
    }

    asio::awaitable<void> serve()
    {
        for (;;) {
            auto socket = co_await server.accept();
            play(io, converse(std::move(socket)));
        }
    }

    asio::awaitable<void> converse(loopback::socket socket)
    {
        for (;;) {
            auto request = co_await read_request(socket);
            asked.push_back(std::move(request));
            if (script.empty()) co_return;
            auto const next = script.front();
            script.pop_front();
            if (next.empty()) co_return;
            co_await say(socket, next);
        }
    }

    aws::json_service& made()
    {
        if (!service) {
            aws::json_target target;
            target.region = "us-east-1";
            auto const all = [] { return 1.0; };
            service.emplace(http, std::move(target), keys, time, retries, all);
        }
        return *service;
    }

    result<net::response> call(aws::call_options how = aws::call_options())
    {
        return run(io, made().call("SendMessage", "{\"a\":1}", how));
    }

    /// Cancels when `when` is called; then the call ends.
    result<net::response> cancelled_call(std::function<void()>& when)
    {
        asio::cancellation_signal signal;
        result<net::response> out = failure(errc::bad_reply, "never ended");
        when = [&] { asio::post(io, [&] { signal.emit(asio::cancellation_type::terminal); }); };
        auto const done = [&](std::exception_ptr thrown, result<net::response> value) {
            if (thrown) std::rethrow_exception(thrown);
            out = std::move(value);
            io.stop();
        };
        asio::co_spawn(io, made().call("SendMessage", "{}", aws::call_options()),
            asio::bind_cancellation_slot(signal.slot(), done));
        io.restart();
        io.run();
        return out;
    }

    bool was_asked(std::size_t index, std::string_view what) const
    {
        return index < asked.size() && asked[index].find(what) != std::string::npos;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(call, fixture)

BOOST_AUTO_TEST_CASE(sends_a_signed_request_and_returns_the_answer)
{
    script = {reply(200, "", "{\"b\":2}")};
    auto const got = call();
    BOOST_REQUIRE(got.has_value());
    BOOST_TEST(got->body == "{\"b\":2}");
    BOOST_REQUIRE(asked.size() == 1u);
    BOOST_TEST(was_asked(0, "x-amz-target: AmazonSQS.SendMessage\r\n"));
    BOOST_TEST(was_asked(0, "host: 127.0.0.1:" + std::to_string(server.port()) + "\r\n"));
    BOOST_TEST(was_asked(0, "Credential=AKID1/20260102/us-east-1/sqs/aws4_request"));
    BOOST_TEST(asked[0].ends_with("\r\n\r\n{\"a\":1}"));
    BOOST_TEST(time.waits.empty());
}

BOOST_AUTO_TEST_CASE(a_transient_error_is_retried_after_the_backoff_with_a_new_signature)
{
    time.elapsed = 980ms;
    script = {error(500, "InternalFailure"), "HTTP/1.1 503 X\r\ncontent-length: 4\r\n\r\nbusy", reply(200)};
    BOOST_TEST(call().has_value());
    BOOST_TEST((time.waits == std::vector<nanoseconds>{50ms, 100ms}));
    BOOST_TEST(was_asked(0, "x-amz-date: 20260102T030405Z"));
    BOOST_TEST(was_asked(1, "x-amz-date: 20260102T030406Z"));
    BOOST_TEST(made().quota(net::lane::control).left() == 500 - 14);
}

BOOST_AUTO_TEST_CASE(throttling_waits_longer_and_the_services_hint_counts)
{
    script = {
        error(403, "RequestThrottled"), error(400, "ThrottlingException", "x-amz-retry-after: 3000\r\n"), reply(200)};
    BOOST_TEST(call().has_value());
    BOOST_TEST((time.waits == std::vector<nanoseconds>{1s, 3s}));
}

BOOST_AUTO_TEST_CASE(after_the_last_attempt_the_error_is_returned)
{
    script = {error(500, "A"), error(500, "B"), error(500, "C")};
    auto const got = call();
    BOOST_REQUIRE(!got.has_value());
    BOOST_TEST(got.error().service_code == "C");
    BOOST_TEST(got.error().http_status == 500);
    BOOST_TEST(got.error().retryable);
    BOOST_TEST(asked.size() == 3u);
    BOOST_TEST(time.waits.size() == 2u);
}

BOOST_AUTO_TEST_CASE(an_error_of_the_request_is_returned_at_once)
{
    script = {error(400, "InvalidParameterValue")};
    auto const got = call();
    BOOST_REQUIRE(!got.has_value());
    BOOST_TEST((got.error().code == errc::service_error));
    BOOST_TEST(asked.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_connection_that_breaks_is_a_transient_error)
{
    script = {"", reply(200)};
    BOOST_TEST(call().has_value());
    BOOST_TEST(asked.size() == 2u);
    BOOST_TEST((time.waits == std::vector<nanoseconds>{50ms}));
}

BOOST_AUTO_TEST_CASE(each_lane_spends_a_quota_of_its_own)
{
    retries.quota = 14;
    aws::call_options poll;
    poll.via = net::lane::data;
    script = {error(500, "A"), error(500, "B"), error(500, "C"), reply(200)};
    BOOST_TEST(call(poll).error().service_code == "B"); // the quota is enough for one retry
    BOOST_TEST(made().quota(net::lane::data).left() == 0);
    BOOST_TEST(call().has_value());
    BOOST_TEST(asked.size() == 4u);
}

BOOST_AUTO_TEST_CASE(a_long_poll_without_quota_waits_before_it_fails)
{
    retries.quota = 0;
    aws::call_options poll;
    poll.long_poll = true;
    script = {error(500, "A"), error(500, "B")};
    BOOST_TEST(call(poll).error().service_code == "A");
    BOOST_TEST((time.waits == std::vector<nanoseconds>{50ms}));
    BOOST_TEST(call().error().service_code == "B");
    BOOST_TEST(time.waits.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_wrong_clock_is_corrected_and_the_call_sent_again_at_once)
{
    script = {
        error(403, "InvalidSignatureException", an_hour_later, "Signature expired: 2026…"), reply(200), reply(200)};
    BOOST_TEST(call().has_value());
    BOOST_TEST(call().has_value());
    BOOST_TEST(was_asked(0, "x-amz-date: 20260102T030405Z"));
    BOOST_TEST(was_asked(1, "x-amz-date: 20260102T040405Z"));
    BOOST_TEST(was_asked(2, "x-amz-date: 20260102T040405Z"));
    BOOST_TEST(time.waits.empty());
}

BOOST_AUTO_TEST_CASE(a_clock_that_stays_wrong_ends_the_call_after_one_correction)
{
    auto const refused = error(403, "RequestTimeTooSkewed", an_hour_later);
    script = {refused, refused, reply(200)};
    BOOST_TEST(call().error().service_code == "RequestTimeTooSkewed");
    BOOST_TEST(asked.size() == 2u);
}

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
    class counting final : public aws::credentials_source {
    public:
        asio::awaitable<result<aws::credentials>> load() override
        {
            co_return aws::credentials{"SOURCE" + std::to_string(++loads_), "s", "t"};
        }

    private:
        int loads_ = 0;
    };
    aws::json_target target;
    target.region = "us-east-1";
    auto const provider = aws::cached_credentials(io.get_executor(), std::make_unique<counting>(), time);
    service.emplace(http, std::move(target), provider, time);
    script = {reply(200), error(403, "ExpiredTokenException"), reply(200), error(403, "ExpiredTokenException")};
    BOOST_TEST(call().has_value());
    BOOST_TEST(was_asked(0, "Credential=SOURCE1/"));
    BOOST_TEST(call().has_value());
    BOOST_TEST(was_asked(1, "Credential=SOURCE1/"));
    BOOST_TEST(was_asked(2, "Credential=SOURCE2/"));
    BOOST_TEST(call().error().service_code == "ExpiredTokenException"); // so soon again: asking has not helped
    BOOST_TEST(asked.size() == 4u);
}

BOOST_AUTO_TEST_CASE(expired_credentials_without_others_end_the_call)
{
    script = {error(403, "ExpiredTokenException"), reply(200)};
    BOOST_TEST(call().error().service_code == "ExpiredTokenException");
}

BOOST_AUTO_TEST_CASE(without_credentials_nothing_is_sent)
{
    keys->left.clear();
    BOOST_TEST((call().error().code == errc::no_credentials));
    BOOST_TEST(asked.empty());
}

BOOST_AUTO_TEST_CASE(a_cancelled_backoff_ends_with_stopped)
{
    script = {error(500, "A"), reply(200)};
    auto const got = cancelled_call(time.stuck);
    BOOST_TEST((got.error().code == errc::stopped));
    BOOST_TEST(asked.size() == 1u);
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
    aws::json_target target;
    target.region = "us-east-1";
    service.emplace(http, std::move(target), provider, time);
    BOOST_TEST((cancelled_call(provider->cancel).error().code == errc::stopped));
    BOOST_TEST(asked.empty());
}

BOOST_AUTO_TEST_CASE(options_that_cannot_work_are_refused_by_name)
{
    retries.max_attempts = 0;
    auto const names_it = [](boost::system::system_error const& e) {
        return std::string_view(e.what()).find("max_attempts") != std::string_view::npos;
    };
    BOOST_CHECK_EXCEPTION(made(), boost::system::system_error, names_it);
}

BOOST_AUTO_TEST_SUITE_END()
