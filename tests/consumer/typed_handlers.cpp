#include <quern/consumer/json.hpp>
#include <quern/consumer/middleware.hpp>
#include <quern/consumer/s3_pointer.hpp>
#include <quern/consumer/sns.hpp>

#include "consumer/mill.hpp"
#include "consumer/order.hpp"

using namespace quern::test;
using namespace quern;

namespace {

constexpr char const* rolls = R"({"item":"rolls","count":3})";

struct shop : mill {
    std::vector<std::string> sold;

    void post(std::string body, std::string const& attribute = {})
    {
        sqs::send_message_request request(url, std::move(body));
        sqs::attribute_value const size{"Number", "300000"};
        if (!attribute.empty()) request.attributes.emplace(attribute, size);
        engine.send_message(std::move(request), time.wall()).value();
    }

    template <class F>
    void open(F handle)
    {
        it.emplace(io.get_executor(), api, url, std::move(handle), options);
        it->start();
    }

    void sell(order const& o) { sold.push_back(std::to_string(o.count) + ' ' + o.item); }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(typed_handlers, shop)

BOOST_AUTO_TEST_CASE(a_handler_of_json_may_have_each_of_the_four_shapes)
{
    auto const body = [this](auto handle) {
        post(rolls);
        open(json<order>(decode, handle));
        BOOST_TEST(until(5min, [this] { return empty(); }));
        drained();
        report.reset();
    };
    body([this](order& o, delivery&) { sell(o); });
    body([this](order const& o, delivery&) {
        sell(o);
        return ack();
    });
    body([this](order const& o, delivery&) -> asio::awaitable<void> {
        co_await pause(2min); // the order lives as long as its handler
        sell(o);
    });
    body([this](order o, delivery&) -> asio::awaitable<outcome> {
        co_await pause(1s);
        sell(o);
        co_return ack();
    });
    BOOST_TEST(sold == std::vector<std::string>(4, "3 rolls"), boost::test_tools::per_element());
    report = drain_report();
}

BOOST_AUTO_TEST_CASE(what_is_no_order_is_malformed_and_the_handler_does_not_see_it)
{
    options.on_malformed = malformed_policy::discard;
    post("three rolls");
    post(rolls);
    post(R"({"item":"rolls"})");
    open(json<order>(decode, [this](order const& o, delivery&) -> asio::awaitable<void> {
        sell(o);
        co_return;
    }));
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(sold.size() == 1u);
    BOOST_TEST(it->counters().malformed == 2u);
    BOOST_TEST(log_lines("malformed message") == 2); // each says something else
    BOOST_TEST(it->counters().retried == 0u);
}

BOOST_AUTO_TEST_CASE(wrappers_go_into_each_other)
{
    std::vector<std::string> fetched;
    auto download = [&, this](s3_pointer const& at) -> asio::awaitable<std::string> {
        co_await pause(1min); // two leases
        fetched.push_back(at.bucket + '/' + at.key);
        co_return R"({"Type":"Notification","Message":"{\"item\":\"cake\",\"count\":1}"})";
    };
    auto sell_it = [this](order const& o, delivery&) -> asio::awaitable<outcome> {
        co_await pause(1s);
        sell(o);
        co_return ack();
    };
    post(R"(["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":"big","s3Key":"1"}])",
        "SQSLargePayloadSize");
    post(R"({"Type":"Notification","Message":"{\"item\":\"rolls\",\"count\":3}"})");
    open(from_s3(download, from_sns(json<order>(decode, sell_it))));
    BOOST_TEST(until(5min, [this] { return empty(); }));
    BOOST_TEST(fetched == std::vector<std::string>{"big/1"}, boost::test_tools::per_element());
    BOOST_TEST(sold == (std::vector<std::string>{"3 rolls", "1 cake"}), boost::test_tools::per_element());
    BOOST_TEST(it->counters().lost == 0u);
}

// The handler got the pointer's text, without a word.
BOOST_AUTO_TEST_CASE(a_pointer_that_came_through_a_topic_is_known_by_the_envelopes_mark)
{
    auto download = [](s3_pointer const& at) -> asio::awaitable<std::string> {
        co_return "the body in " + at.bucket + '/' + at.key;
    };
    post(
        R"({"Type":"Notification","Message":"[\"com.amazon.sqs.javamessaging.MessageS3Pointer\",{\"s3BucketName\":\"b\",)"
        R"(\"s3Key\":\"k\"}]","MessageAttributes":{"ExtendedPayloadSize":{"Type":"Number","Value":"3"}}})");
    post(R"({"Type":"Notification","Message":"[\"no pointer\"]"})");
    open(from_sns(from_s3(download, [this](std::string_view text, delivery&) { sold.emplace_back(text); })));
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(
        sold == (std::vector<std::string>{"the body in b/k", R"(["no pointer"])"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_download_that_fails_is_a_failure_and_no_malformed_message)
{
    int tries = 0;
    auto download = [&](s3_pointer const&) -> asio::awaitable<std::string> {
        if (++tries == 1) throw std::runtime_error("S3 is slow");
        co_return "cake";
    };
    post(R"(["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":"big","s3Key":"1"}])",
        "ExtendedPayloadSize");
    open(from_s3(download, [this](std::string_view text, delivery&) { sold.emplace_back(text); }));
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(sold == std::vector<std::string>{"cake"}, boost::test_tools::per_element());
    BOOST_TEST(it->counters().retried == 1u);
    BOOST_TEST(it->counters().malformed == 0u);
}

BOOST_AUTO_TEST_CASE(a_handler_may_look_at_the_envelope)
{
    post(R"({"Type":"Notification","TopicArn":"topic","Message":"m","MessageAttributes":{}})");
    open(from_sns(
        [this](sns_envelope const& from, delivery&) { sold.push_back(from.topic_arn + ' ' + from.message); }));
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(sold == std::vector<std::string>{"topic m"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(middleware_chain, shop)

BOOST_AUTO_TEST_CASE(each_goes_around_the_next_and_the_handler_is_last)
{
    auto const around = [this](std::string name) -> middleware {
        return [this, name](delivery& d, handler const& next) -> asio::awaitable<outcome> {
            sold.push_back(name + " before");
            auto const said = co_await next(d);
            sold.push_back(name + " after");
            co_return said;
        };
    };
    post(rolls);
    open(
        chain(around("outer"), around("inner"), json<order>(decode, [this](order const& o, delivery&) { sell(o); })));
    BOOST_TEST(until(1min, [this] { return empty(); }));
    std::vector<std::string> const wanted{"outer before", "inner before", "3 rolls", "inner after", "outer after"};
    BOOST_TEST(sold == wanted, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(it_may_answer_itself_or_ask_again_or_say_something_else)
{
    int calls = 0;
    auto const once_more = [](delivery& d, handler const& next) -> asio::awaitable<outcome> {
        auto said = co_await next(d);
        if (said.what() == outcome::kind::retry) said = co_await next(d);
        co_return said;
    };
    auto const skip_cake = [](delivery& d, handler const& next) -> asio::awaitable<outcome> {
        if (d.body() == "cake") co_return ack();
        auto const said = co_await next(d);
        co_return said;
    };
    post("cake");
    post("rolls");
    open(chain(skip_cake, once_more, [&](delivery& d) {
        sold.emplace_back(d.body());
        return ++calls == 1 ? retry() : ack();
    }));
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(sold == (std::vector<std::string>{"rolls", "rolls"}), boost::test_tools::per_element());
    BOOST_TEST(it->counters().retried == 0u);
}

BOOST_AUTO_TEST_CASE(exceptions_pass_through_it_and_mean_what_they_mean_without)
{
    auto const looks_on = [](delivery& d, handler const& next) -> asio::awaitable<outcome> {
        auto const said = co_await next(d);
        co_return said;
    };
    options.on_malformed = malformed_policy::discard;
    int tries = 0;
    post("three rolls");
    post(rolls);
    open(chain(looks_on, json<order>(decode, [&](order const&, delivery&) -> asio::awaitable<void> {
        if (++tries == 1) throw std::runtime_error("the shop is closed");
        co_return;
    })));
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(it->counters().malformed == 1u);
    BOOST_TEST(it->counters().retried == 1u);
    BOOST_TEST(log_lines("handler failed") == 1);
}

BOOST_AUTO_TEST_CASE(a_lost_lease_cancels_what_runs_within)
{
    auto const ended = std::make_shared<bool>(false); // it comes again, and the end of the test cancels it once more
    auto const looks_on = [](delivery& d, handler const& next) -> asio::awaitable<outcome> {
        auto const said = co_await next(d);
        co_return said;
    };
    options.limits.max_in_flight = 1; // no receive is open that could bring it back here
    api.on_change = [] { return std::optional(failure(errc::connect_failed, "refused", true)); };
    post(rolls);
    open(chain(looks_on, [this, ended](delivery&) -> asio::awaitable<void> {
        auto const timer = time.make_timer(io.get_executor());
        auto const is_time = co_await timer->wait_until(time.now() + 1h);
        *ended = !is_time;
    }));
    BOOST_TEST(until(2min, [&] { return *ended; }));
    BOOST_TEST(it->counters().lost == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
