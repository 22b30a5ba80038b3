#include <quern/sqs/client.hpp>

#include <support/loopback.hpp>
#include <support/run.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

using namespace quern::sqs;
using namespace std::chrono_literals;
using quern::errc;
using quern::test::http_reply;
using quern::test::loopback;
using quern::test::read_request;
using quern::test::run;
using quern::test::say;
using std::string;

namespace asio = boost::asio;

namespace {

client_options options_for(string url)
{
    client_options options;
    options.where.url = std::move(url);
    options.where.region = "us-east-1";
    options.where.fips = false;
    options.where.dual_stack = false;
    options.credentials = quern::aws::static_credentials({"AKIDEXAMPLE", "secret", ""});
    options.retries.max_attempts = 1;
    return options;
}

/// A client and a server that answers what it is told, one answer a request, each on a connection of its own.
struct fixture {
    asio::io_context io;
    loopback server{io};
    client_options options = options_for(server.url());
    std::vector<string> requests;

    /// Runs `operation` of a client against these answers.
    template <class Operation>
    auto with(std::vector<string> answers, Operation operation)
    {
        quern::test::play(io, serve(std::move(answers)));
        client sqs(io.get_executor(), options);
        return run(io, operation(sqs));
    }

    asio::awaitable<void> serve(std::vector<string> answers)
    {
        for (auto const& answer : answers) {
            auto socket = co_await server.accept();
            auto request = co_await read_request(socket);
            requests.push_back(std::move(request));
            co_await say(socket, answer);
        }
    }
};

string error_reply(string type, string query_code, string message)
{
    auto const head =
        "HTTP/1.1 400 Bad Request\r\nx-amzn-requestid: r-1\r\nx-amzn-query-error: " + query_code + ";Sender";
    return http_reply(R"({"__type":"com.amazonaws.sqs#)" + type + R"(","message":")" + message + R"("})", head);
}

send_message_request test_message()
{
    return {"http://localhost/1/q", "test"};
}

/// Credentials that never come.
class vault final : public quern::aws::credentials_provider {
public:
    asio::awaitable<quern::result<quern::aws::shared_credentials>> get() override
    {
        on_asked();
        asio::steady_timer never(co_await asio::this_coro::executor, quern::tick::max());
        co_await never.async_wait(asio::use_awaitable);
        co_return nullptr;
    }
    std::function<void()> on_asked;
};

bool contains(string const& text, string const& part)
{
    return text.find(part) != string::npos;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(sqs_client, fixture)

BOOST_AUTO_TEST_CASE(a_receive_is_signed_and_its_messages_are_read)
{
    auto const body = R"({"Messages":[{"MessageId":"m","ReceiptHandle":"r","Body":"test",)"
                      R"("MD5OfBody":"098f6bcd4621d373cade4e832627b4f6"}]})";
    auto const answer = with({http_reply(body)}, [](client& sqs) {
        receive_message_request request("http://other.example:1/000000000000/q");
        request.wait_time = 1s;
        return sqs.receive_message(std::move(request));
    });
    BOOST_REQUIRE(answer);
    BOOST_TEST(answer->messages.at(0).body == "test");

    auto const& sent = requests.at(0);
    BOOST_TEST(sent.starts_with("POST / HTTP/1.1\r\n"));
    BOOST_TEST(contains(sent, "x-amz-target: AmazonSQS.ReceiveMessage\r\n"));
    BOOST_TEST(contains(sent, "/us-east-1/sqs/aws4_request"));
    BOOST_TEST(contains(sent,
        R"({"QueueUrl":"http://other.example:1/000000000000/q","MaxNumberOfMessages":10,)"
        R"("WaitTimeSeconds":1})"));
}

BOOST_AUTO_TEST_CASE(an_operation_without_output_takes_an_empty_answer)
{
    auto const answer = with({http_reply("")}, [](client& sqs) {
        delete_message_request request("http://localhost/1/q", "h");
        return sqs.delete_message(std::move(request));
    });
    BOOST_TEST(answer.has_value());
    BOOST_TEST(contains(requests.at(0), "x-amz-target: AmazonSQS.DeleteMessage\r\n"));
}

BOOST_AUTO_TEST_CASE(an_observer_is_told_of_each_request_however_it_ended)
{
    struct recorder : request_observer {
        std::vector<string> seen;
        void request_done(observed_request const& r) override
        {
            seen.push_back(string(r.operation) + ' ' + std::to_string(r.status) + ' ' + std::to_string(r.attempts) +
                (r.why ? ' ' + r.why->service_code : "") + (r.bytes_sent > 0 ? "" : " nothing sent") +
                (r.took.count() > 0 ? "" : " no time") + ' ' + std::to_string(r.bytes_received));
            throw std::runtime_error("which is swallowed");
        }
    };
    auto const watch = std::make_shared<recorder>();
    options.observer = watch;
    options.retries.max_attempts = 2;
    options.retries.transient_base = 1ms;
    auto const ask = [](client& sqs) { return sqs.get_queue_url(get_queue_url_request("q")); };
    BOOST_TEST(with({http_reply(R"({"QueueUrl":"http://localhost/1/q"})")}, ask).has_value());
    auto const gone = error_reply("QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue", "gone");
    BOOST_TEST(!with({gone}, ask).has_value());
    auto const busy = http_reply("{}", "HTTP/1.1 503 Service Unavailable");
    BOOST_TEST(with({busy, http_reply(R"({"QueueUrl":"http://localhost/1/q"})")}, ask).has_value());
    BOOST_TEST(!with({http_reply("no JSON")}, ask).has_value());
    std::vector<string> const wanted{"GetQueueUrl 200 1 35",
        "GetQueueUrl 400 1 AWS.SimpleQueueService.NonExistentQueue 0", "GetQueueUrl 200 2 35",
        "GetQueueUrl 200 1  0"};
    BOOST_TEST(watch->seen == wanted, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_error_of_the_service_keeps_what_it_said)
{
    auto const answer = with({error_reply("QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue", "gone")},
        [](client& sqs) { return sqs.get_queue_url(get_queue_url_request("q")); });
    BOOST_REQUIRE(!answer);
    BOOST_TEST(answer.error().code == make_error_code(errc::service_error));
    BOOST_TEST(answer.error().service_code == "AWS.SimpleQueueService.NonExistentQueue");
    BOOST_TEST(answer.error().message == "gone");
    BOOST_TEST(answer.error().request_id == "r-1");
    BOOST_TEST(answer.error().http_status == 400);
    BOOST_TEST(answer.error().sender_fault);
}

BOOST_AUTO_TEST_CASE(an_expired_receipt_is_recognised)
{
    auto const why = "Value h for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.";
    auto const answer =
        with({error_reply("InvalidParameterValueException", "InvalidParameterValue", why)}, [](client& sqs) {
            delete_message_request request("http://localhost/1/q.fifo", "h");
            return sqs.delete_message(std::move(request));
        });
    BOOST_REQUIRE(!answer);
    BOOST_TEST(answer.error().code == make_error_code(errc::receipt_expired));
}

BOOST_AUTO_TEST_CASE(an_answer_that_is_not_the_services_is_a_bad_reply)
{
    auto const answer =
        with({http_reply("<html>hotel</html>", "HTTP/1.1 200 OK\r\nx-amzn-requestid: r-2")}, [](client& sqs) {
            delete_message_request request("http://localhost/1/q", "h");
            return sqs.delete_message(std::move(request));
        });
    BOOST_REQUIRE(!answer);
    BOOST_TEST(answer.error().code == make_error_code(errc::bad_reply));
    BOOST_TEST(answer.error().http_status == 200);
    BOOST_TEST(answer.error().request_id == "r-2");
}

BOOST_AUTO_TEST_CASE(a_request_that_breaks_a_limit_is_not_sent)
{
    client sqs(io.get_executor(), options);
    auto const answer = run(io, sqs.send_message(send_message_request("http://localhost/1/q", "")));
    BOOST_REQUIRE(!answer);
    BOOST_TEST(answer.error().code == make_error_code(errc::invalid_request));
    BOOST_TEST(sqs.counters().requests == 0u);
}

BOOST_AUTO_TEST_CASE(a_message_stored_otherwise_than_sent_fails_unless_nobody_looks)
{
    auto const wrong = http_reply(R"({"MessageId":"m","MD5OfMessageBody":"0123456789abcdef0123456789abcdef"})");
    auto const send = [](client& sqs) { return sqs.send_message(test_message()); };

    auto const answer = with({wrong}, send);
    BOOST_REQUIRE(!answer);
    BOOST_TEST(answer.error().code == make_error_code(errc::checksum_mismatch));
    BOOST_TEST(!answer.error().retryable);

    options.verify_checksums = false;
    BOOST_TEST(with({wrong}, send).has_value());
}

BOOST_AUTO_TEST_CASE(digests_of_batches_and_of_received_messages_are_compared)
{
    auto const sent =
        with({http_reply(R"({"Successful":[{"Id":"a","MessageId":"m","MD5OfMessageBody":"0"}]})")}, [](client& sqs) {
            send_message_batch_request request("http://localhost/1/q", {{"a", "test"}});
            return sqs.send_message_batch(std::move(request));
        });
    BOOST_REQUIRE(sent);
    BOOST_TEST(sent->successful.empty());
    BOOST_TEST(sent->failed.size() == 1u);

    auto const body = R"({"Messages":[{"MessageId":"m","ReceiptHandle":"r","Body":"test","MD5OfBody":"0"}]})";
    auto const received = with({http_reply(body)},
        [](client& sqs) { return sqs.receive_message(receive_message_request("http://localhost/1/q")); });
    BOOST_REQUIRE(received);
    BOOST_TEST(received->messages.empty());
    BOOST_REQUIRE(received->damaged.size() == 1u);
    BOOST_TEST(received->damaged[0].known.receipt_handle == "r");
}

BOOST_AUTO_TEST_CASE(a_delete_does_not_wait_behind_a_long_poll)
{
    options.connections.data_connections = 1;
    options.connections.control_connections = 1;
    client sqs(io.get_executor(), options);
    std::vector<string> ended;

    auto const remove = [&]() -> asio::awaitable<void> {
        delete_message_request request("http://localhost/1/q", "h");
        auto const answer = co_await sqs.delete_message(std::move(request));
        BOOST_TEST(answer.has_value());
        ended.push_back("delete");
    };
    auto const part = [&]() -> asio::awaitable<void> {
        auto poll = co_await server.accept();
        auto const asked = co_await read_request(poll);
        BOOST_TEST(contains(asked, "AmazonSQS.ReceiveMessage"));
        quern::test::play(io, remove());
        auto control = co_await server.accept(); // the poll is still open
        auto const also_asked = co_await read_request(control);
        BOOST_TEST(contains(also_asked, "AmazonSQS.DeleteMessage"));
        co_await say(control, http_reply(""));
        while (ended.empty())
            co_await asio::post(asio::use_awaitable); // until the delete is through
        co_await say(poll, http_reply("{}"));
    };
    auto const poll = [&]() -> asio::awaitable<bool> {
        auto const answer = co_await sqs.receive_message(receive_message_request("http://localhost/1/q"));
        ended.push_back("poll");
        co_return answer.has_value();
    };
    quern::test::play(io, part());
    BOOST_TEST(run(io, poll()));
    BOOST_TEST(ended == (std::vector<string>{"delete", "poll"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_cancelled_long_poll_ends_as_stopped)
{
    client sqs(io.get_executor(), options);
    asio::cancellation_signal cancel;
    std::optional<quern::result<receive_message_response>> answer;

    std::optional<loopback::socket> open;
    auto const part = [&]() -> asio::awaitable<void> {
        open = co_await server.accept();
        co_await read_request(*open);
        cancel.emit(asio::cancellation_type::terminal);
    };
    auto const done = [&](std::exception_ptr e, quern::result<receive_message_response> value) {
        BOOST_TEST(!e);
        answer = std::move(value);
        io.stop();
    };
    quern::test::play(io, part());
    auto poll = sqs.receive_message(receive_message_request("http://localhost/1/q"));
    asio::co_spawn(io, std::move(poll), asio::bind_cancellation_slot(cancel.slot(), done));
    io.run();
    BOOST_REQUIRE(answer.has_value());
    BOOST_REQUIRE(!*answer);
    BOOST_TEST(answer->error().code == make_error_code(errc::stopped));
}

// What resumed after the client was gone used its parts.
BOOST_AUTO_TEST_CASE(destroying_a_client_ends_what_is_under_way)
{
    auto sqs = std::make_unique<client>(io.get_executor(), options);
    auto const part = [&]() -> asio::awaitable<void> {
        auto socket = co_await server.accept();
        co_await read_request(socket);
        sqs.reset();
    };
    quern::test::play(io, part());
    auto const answer = run(io, sqs->receive_message(receive_message_request("http://localhost/1/q")));
    BOOST_REQUIRE(!answer);
    BOOST_TEST(answer.error().code == make_error_code(errc::stopped));
}

// It waited on for the program's own provider, and run() with it.
BOOST_AUTO_TEST_CASE(closing_a_client_ends_the_wait_for_the_programs_credentials)
{
    auto const closed = std::make_shared<vault>();
    options.credentials = closed;
    client sqs(io.get_executor(), options);
    BOOST_TEST(sqs.credentials() == closed);
    closed->on_asked = [&] { asio::post(io, [&] { sqs.close(); }); };
    auto const answer = run(io, sqs.list_queues(list_queues_request()));
    BOOST_REQUIRE(!answer);
    BOOST_TEST(answer.error().code == make_error_code(errc::stopped));
}

BOOST_AUTO_TEST_CASE(a_context_may_go_while_credentials_are_waited_for)
{
    auto const closed = std::make_shared<vault>();
    options.credentials = closed;
    closed->on_asked = [&] { io.stop(); };
    auto sqs = std::make_unique<client>(io.get_executor(), options);
    auto const ask = [](client& c) -> asio::awaitable<void> {
        co_await c.list_queues(list_queues_request());
        BOOST_TEST(false); // it never ends
    };
    quern::test::play(io, ask(*sqs));
    io.run();
    sqs.reset();
}

BOOST_AUTO_TEST_CASE(settings_that_cannot_work_are_refused_by_name)
{
    auto const refused = [&](std::function<void(client_options&)> change) {
        auto changed = options;
        change(changed);
        try {
            client sqs(io.get_executor(), changed);
        } catch (boost::system::system_error const& e) {
            BOOST_TEST(e.code() == make_error_code(errc::invalid_option));
            return string(e.what());
        }
        return string("accepted");
    };
    BOOST_TEST(contains(refused([](auto& o) { o.request_timeout = 0ms; }), "request_timeout"));
    BOOST_TEST(contains(refused([](auto& o) { o.receive_slack = -1ms; }), "receive_slack"));
    BOOST_TEST(contains(
        refused([](auto& o) { o.request_timeout = decltype(o.request_timeout)::max(); }), "request_timeout"));
    BOOST_TEST(
        contains(refused([](auto& o) { o.receive_slack = decltype(o.receive_slack)::max(); }), "receive_slack"));
    BOOST_TEST(contains(refused([](auto& o) { o.retries.max_attempts = 0; }), "max_attempts"));
    BOOST_TEST(contains(refused([](auto& o) { o.connections.data_connections = 0; }), "data_connections"));
    BOOST_TEST(contains(refused([](auto& o) { o.where.url = "localhost:9324"; }), "localhost:9324"));
    BOOST_TEST(contains(refused([](auto& o) { o.where.region = "no region"; }), "region"));
    ::unsetenv("AWS_REGION");
    ::unsetenv("AWS_DEFAULT_REGION");
    BOOST_TEST(contains(refused([](auto& o) { o.where.region.clear(); }), "AWS_REGION")); // with a URL, too
}

BOOST_AUTO_TEST_CASE(requests_go_to_the_path_of_the_endpoint)
{
    options.where.url = server.url() + "/gateway/sqs";
    auto const answer = with({http_reply("{}")}, [](client& sqs) { return sqs.list_queues(list_queues_request()); });
    BOOST_TEST(answer.has_value());
    BOOST_TEST(requests.at(0).starts_with("POST /gateway/sqs/ HTTP/1.1\r\n"));
}

BOOST_AUTO_TEST_SUITE_END()
