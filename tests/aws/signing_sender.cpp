#include <quern/aws/signing_sender.hpp>

#include <quern/aws/detail/signing/verify.hpp>

#include "support/run.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <functional>
#include <string>
#include <vector>

using namespace quern;
using namespace quern::aws;
using namespace quern::test;
using namespace quern::aws::detail;
using namespace quern::detail;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

credentials const old_keys{"ASIAOLD", "secret one", "token/with+signs=="};
credentials const new_keys{"ASIANEW", "secret two", "another token"};

wall_time const signing_time = *text::parse_timestamp("20260102T030405Z");

/// A clock that stands still: a wait on it is for somebody to ring, or over at once with all its time gone.
struct still_clock final : clock {
    struct wait final : timer {
        wait(still_clock& c, asio::any_io_executor ex) : owner(c), real(real_clock().make_timer(std::move(ex))) {}
        asio::awaitable<bool> wait_until(tick at) override
        {
            if (!owner.loses_patience) co_return co_await real->wait_until(tick::max());
            owner.elapsed = at - tick();
            co_return true;
        }
        void cancel() override { real->cancel(); }

        still_clock& owner;
        std::unique_ptr<timer> real;
    };

    tick now() const override { return tick() + elapsed; }
    wall_time wall() const override { return signing_time; }
    std::unique_ptr<timer> make_timer(asio::any_io_executor ex) override
    {
        return std::make_unique<wait>(*this, std::move(ex));
    }

    tick::duration elapsed{};
    bool loses_patience = false;
};

/// A service that believes in signatures, and in its own clock.
struct service final : net::web_hook_sender {
    asio::awaitable<net::web_hook_result> send(net::web_hook_request r) override
    {
        auto const host = r.to.authority();
        request_view view{r.method, r.to.path, {{"host", host}}, r.body};
        for (auto const& [name, value] : r.headers)
            view.headers.push_back({name, value});
        verifier check([](std::string_view id) -> std::optional<credentials> {
            for (auto const& who : {old_keys, new_keys})
                if (who.access_key_id == id) return who;
            return {};
        });
        auto const who = check.check(view, time);
        net::response out;
        out.status = 200;
        out.fields.add("date", text::http_date(time));
        if (unwell != 0) {
            out.status = unwell;
        } else if (!who) {
            out.status = who.error().http_status;
            out.body = R"({"__type":")" + who.error().service_code + R"("})";
        } else if (expired == who->access_key_id) {
            out.status = 403;
            out.body = R"({"__type":"ExpiredTokenException"})";
        } else {
            callers.push_back(*who);
        }
        sent.push_back(std::move(r));
        co_return out;
    }

    wall_time time = signing_time;
    std::string expired; ///< an access key
    int unwell = 0;      ///< a status, for whatever is asked
    std::vector<net::web_hook_request> sent;
    std::vector<caller> callers;
};

/// Keys that are fetched, and others when these are refused.
struct fetched_keys final : credentials_provider {
    asio::awaitable<result<shared_credentials>> get() override
    {
        if (on_asked) on_asked();
        if (none) co_return failure(errc::no_credentials, "none here");
        if (hangs) {
            asio::steady_timer never(co_await asio::this_coro::executor, tick::max());
            auto const [ec] = co_await never.async_wait(asio::as_tuple(asio::use_awaitable));
            if (ec) ++cancelled;
        }
        co_return std::make_shared<credentials const>(renewed ? new_keys : old_keys);
    }
    renewal renew(shared_credentials const&) override
    {
        renewed = true;
        return others;
    }

    bool none = false, renewed = false, hangs = false;
    int cancelled = 0;
    std::function<void()> on_asked;
    renewal others = renewal::now;
};

struct fixture {
    net::web_hook_result send(std::string body = "{}") { return run(sender.send(request(std::move(body)))); }

    static net::web_hook_request request(std::string body = "{}")
    {
        net::web_hook_request r(net::parse_url("https://xray.eu-west-1.amazonaws.com/v1/traces?a=b").value());
        r.headers = {{"Content-Type", "application/json"}, {"User-Agent", "quern"}};
        r.body = std::move(body);
        r.timeout = 30s;
        return r;
    }

    service there;
    still_clock time;
    std::shared_ptr<fetched_keys> keys = std::make_shared<fetched_keys>();
    signing_sender sender{there, keys, {"xray", "eu-west-1"}, time};
};

} // namespace

BOOST_FIXTURE_TEST_CASE(a_service_that_checks_signatures_takes_the_request, fixture)
{
    BOOST_TEST(send().value().status == 200);
    BOOST_TEST(send(R"({"resourceSpans":[]})").value().status == 200);
    BOOST_TEST(there.sent.size() == 2u);
    BOOST_TEST(there.callers.at(1).access_key_id == "ASIAOLD");
    BOOST_TEST(there.callers.at(1).service == "xray");
    BOOST_TEST(there.callers.at(1).region == "eu-west-1");
    BOOST_TEST(there.sent.at(1).body == R"({"resourceSpans":[]})");
    BOOST_TEST(there.sent.at(1).headers.front().second == "application/json");
}

BOOST_FIXTURE_TEST_CASE(without_credentials_nothing_is_sent, fixture)
{
    keys->none = true;
    auto const answer = send();
    BOOST_TEST(answer.error().fault == net::web_hook_fault::invalid_request);
    BOOST_TEST(answer.error().why.code == errc::no_credentials);
    BOOST_TEST(there.sent.empty());
}

BOOST_FIXTURE_TEST_CASE(expired_credentials_are_renewed_once, fixture)
{
    there.expired = "ASIAOLD";
    BOOST_TEST(send().value().status == 200);
    BOOST_TEST(there.callers.at(0).access_key_id == "ASIANEW");
    there.expired = "ASIANEW";
    BOOST_TEST(send().value().status == 403);
    BOOST_TEST(there.sent.size() == 4u);
}

BOOST_FIXTURE_TEST_CASE(expired_credentials_without_others_are_the_answer, fixture)
{
    there.expired = "ASIAOLD";
    keys->others = renewal::later;
    BOOST_TEST(send().value().status == 403);
    BOOST_TEST(there.sent.size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_clock_that_is_wrong_is_corrected_by_the_answer, fixture)
{
    there.time += 1h;
    BOOST_TEST(send().value().status == 200);
    BOOST_TEST(there.sent.size() == 2u);
    BOOST_TEST(send().value().status == 200);
    BOOST_TEST(there.sent.size() == 3u);
}

// What the service had taken in was sent twice, because of the Date of an answer that blamed nobody.
BOOST_FIXTURE_TEST_CASE(a_service_that_is_unwell_is_asked_once_whatever_its_date, fixture)
{
    there.time += 6min;
    for (int const status : {429, 500, 502, 503, 504}) {
        there.unwell = status;
        there.sent.clear();
        BOOST_TEST(send().value().status == status);
        BOOST_TEST(there.sent.size() == 1u);
    }
    there.unwell = 403;
    there.sent.clear();
    BOOST_TEST(send().value().status == 403);
    BOOST_TEST(there.sent.size() == 2u);
}

// A vault that hung kept an export waiting for ever, whatever its timeout.
BOOST_FIXTURE_TEST_CASE(credentials_are_waited_for_no_longer_than_the_request_may_take, fixture)
{
    keys->hangs = time.loses_patience = true;
    asio::io_context io;
    auto const got = run(io, sender.send(request()));
    BOOST_REQUIRE(got.has_error());
    BOOST_TEST(got.error().fault == net::web_hook_fault::invalid_request);
    BOOST_TEST(got.error().why.code == errc::timed_out);
    BOOST_TEST(got.error().why.retryable);
    BOOST_TEST(got.error().why.message == "deadline passed while waiting for credentials");
    BOOST_TEST(time.elapsed == 30s);
    io.restart();
    io.poll();
    BOOST_TEST(keys->cancelled == 1);
    BOOST_TEST(there.sent.empty());
}

BOOST_FIXTURE_TEST_CASE(what_the_credentials_took_is_missing_to_the_request, fixture)
{
    keys->on_asked = [&] { time.elapsed += 12s; };
    BOOST_TEST(send().value().status == 200);
    BOOST_TEST(there.sent.at(0).timeout == 18s);
    keys->on_asked = [&] { time.elapsed += 30s; };
    BOOST_TEST(send().error().why.code == errc::timed_out);
    BOOST_TEST(there.sent.size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_wait_for_credentials_can_be_cancelled, fixture)
{
    keys->hangs = true;
    asio::io_context io;
    asio::cancellation_signal stop;
    keys->on_asked = [&] { asio::post(io, [&] { stop.emit(asio::cancellation_type::terminal); }); };
    net::web_hook_fault fault{};
    auto const done = [&](std::exception_ptr thrown, net::web_hook_result got) {
        if (thrown) std::rethrow_exception(thrown);
        fault = got.error().fault;
    };
    asio::co_spawn(io, sender.send(request()), asio::bind_cancellation_slot(stop.slot(), done));
    io.run();
    BOOST_TEST(fault == net::web_hook_fault::cancelled);
    BOOST_TEST(keys->cancelled == 1);
    BOOST_TEST(there.sent.empty());
}

BOOST_AUTO_TEST_CASE(only_hosts_of_services_are_signed_for)
{
    struct {
        char const *host, *service, *region;
    } const table[] = {
        {"monitoring.eu-west-1.amazonaws.com", "monitoring", "eu-west-1"},
        {"XRay.US-East-1.amazonaws.com", "xray", "us-east-1"},
        {"xray.us-gov-west-1.amazonaws.com", "xray", "us-gov-west-1"},
        {"monitoring-fips.us-east-1.api.aws", "monitoring", "us-east-1"},
        {"monitoring.cn-north-1.amazonaws.com.cn", "monitoring", "cn-north-1"},
        {"logs.eusc-de-east-1.amazonaws.eu", "logs", "eusc-de-east-1"},
        {"aps-workspaces.eu-west-1.amazonaws.com", "aps", "eu-west-1"},
        {"vpce-0f-1e.xray.eu-west-1.vpce.amazonaws.com", "xray", "eu-west-1"},
    };
    for (auto const& row : table) {
        auto const found = signing_place_of(row.host);
        BOOST_REQUIRE_MESSAGE(found.has_value(), row.host);
        BOOST_TEST(found->service == row.service, row.host);
        BOOST_TEST(found->region == row.region, row.host);
    }
    for (auto const* const other : {"", "localhost", "collector", "127.0.0.1", "amazonaws.com", "xray.amazonaws.com",
             "xray.eu-west-1.amazonaws.com.evil.example", "xray.eu-west-1.myamazonaws.com",
             "ec2-1-2-3-4.compute-1.amazonaws.com", "ec2-1-2-3-4.eu-west-1.compute.amazonaws.com",
             "mine-123.eu-west-1.elb.amazonaws.com", "bucket.s3.eu-west-1.amazonaws.com",
             "x.execute-api.eu-west-1.amazonaws.com", "xray.eu-west-1.vpce.amazonaws.com",
             "vpce-0f.xray.eu-west-1.amazonaws.com", ".eu-west-1.amazonaws.com"})
        BOOST_TEST(!signing_place_of(other).has_value(), other);
}
