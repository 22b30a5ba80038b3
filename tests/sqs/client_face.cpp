// The client as other Asio code sees it: completion tokens, moves.

#include <quern/sqs/client.hpp>

#include <support/loopback.hpp>
#include <support/run.hpp>

#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <future>
#include <optional>

using namespace quern::sqs;
using namespace std::chrono_literals;

namespace asio = boost::asio;

namespace {

struct face {
    asio::io_context io;
    quern::test::loopback server{io};
    client_options options;
    send_message_request const wrong{"http://localhost/1/q", ""}; // refused before it is sent

    face()
    {
        options.where.url = server.url();
        options.where.region = "us-east-1";
        options.credentials = quern::aws::static_credentials({"AKIDEXAMPLE", "secret", ""});
    }

    asio::awaitable<void> serve(std::string answer)
    {
        auto socket = co_await server.accept();
        auto const request = co_await quern::test::read_request(socket);
        co_await quern::test::say(socket, answer);
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(client_face, face)

BOOST_AUTO_TEST_CASE(an_operation_takes_a_completion_token)
{
    auto const answer = R"({"MessageId":"m","MD5OfMessageBody":"098f6bcd4621d373cade4e832627b4f6"})";
    quern::test::play(io, serve(quern::test::http_reply(answer)));
    client sqs(io.get_executor(), options);
    auto sent = sqs.send_message(send_message_request("http://localhost/1/q", "test"), asio::use_future);
    std::optional<quern::failure> refused;
    sqs.send_message(wrong, [&](quern::result<send_message_response> said) { refused = said.error(); });
    for (int turns = 0; turns < 100 && sent.wait_for(0s) != std::future_status::ready; ++turns)
        io.run_one_for(100ms);
    BOOST_REQUIRE((sent.wait_for(0s) == std::future_status::ready));
    BOOST_TEST(sent.get().value().message_id == "m");
    BOOST_REQUIRE(refused);
    BOOST_TEST(refused->code == make_error_code(quern::errc::invalid_request));
}

BOOST_AUTO_TEST_CASE(a_client_that_was_moved_goes_on)
{
    client first(io.get_executor(), options);
    client sqs(std::move(first));
    first = client(io.get_executor(), options);
    for (auto* one : {&first, &sqs})
        BOOST_TEST(quern::test::run(io, one->send_message(wrong)).error().code ==
            make_error_code(quern::errc::invalid_request)); // the one moved from would have been stopped
}

BOOST_AUTO_TEST_SUITE_END()
