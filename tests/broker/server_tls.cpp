#include <quern/broker/server.hpp>
#include <quern/sqs/client.hpp>

#include "support/certificate.hpp"
#include "support/proxy.hpp"
#include "support/run.hpp"

#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdlib>

namespace asio = boost::asio;
using namespace quern;
using namespace std::chrono_literals;
using quern::test::certificate;
using std::string;

namespace {

string file(string const& name)
{
    return string(std::getenv("QUERN_TMP_DIR")) + '/' + name;
}

/// A broker behind TLS that checks signatures, and a client that trusts its authority.
struct secured {
    asio::io_context io;
    certificate authority{"Test Authority"};
    certificate shown{"sqs.test.example", authority};
    broker::server_options options;

    secured()
    {
        options.port = 0;
        options.hosts = {"sqs.test.example"};
        options.tls_certificate = shown.save(file("broker.pem"));
        options.tls_key = shown.save_key(file("broker-key.pem"));
    }

    sqs::client_options client_options(broker::server const& at, string const& host)
    {
        sqs::client_options out;
        out.where.url = "https://" + host + ':' + std::to_string(at.port());
        out.where.region = "us-east-1";
        out.credentials = aws::static_credentials({"quern", "quern", ""});
        out.connections.ca_bundle = authority.save(file("authority.pem"));
        return out;
    }

    /// Creates a queue, sends to it, long-polls, deletes; the number of messages that came, or why not.
    static asio::awaitable<result<string>> work(sqs::api& sqs)
    {
        sqs::create_queue_request create("orders");
        auto const made = co_await sqs.create_queue(std::move(create));
        if (!made) co_return made.error();
        auto const url = made->queue_url;
        sqs::send_message_request send(url, string(200'000, 'x')); // more than a TLS record, and a read
        auto const sent = co_await sqs.send_message(std::move(send));
        if (!sent) co_return sent.error();
        sqs::receive_message_request receive(url);
        receive.wait_time = 1s;
        auto const got = co_await sqs.receive_message(std::move(receive));
        if (!got) co_return got.error();
        if (got->messages.size() != 1 || got->messages[0].body.size() != 200'000)
            co_return failure(errc::bad_reply, "another message");
        sqs::delete_message_request remove(url, string(got->messages[0].receipt_handle));
        auto const removed = co_await sqs.delete_message(std::move(remove));
        if (!removed) co_return removed.error();
        co_return url;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(server_tls, secured)

BOOST_AUTO_TEST_CASE(serves_https_and_names_its_queues_so)
{
    shown = certificate("127.0.0.1", authority);
    options.tls_certificate = shown.save(file("local.pem"));
    options.tls_key = shown.save_key(file("local-key.pem"));
    broker::server server(io.get_executor(), options);
    server.listen().value();
    BOOST_TEST(server.url() == "https://127.0.0.1:" + std::to_string(server.port()));
    sqs::client client(io.get_executor(), client_options(server, "127.0.0.1"));
    BOOST_TEST(test::run(io, work(client)).value() == server.url() + "/000000000000/orders");
    BOOST_TEST(client.counters().connects == 2u); // one a lane
}

BOOST_AUTO_TEST_CASE(is_reached_by_name_through_a_proxy)
{
    broker::server server(io.get_executor(), options);
    server.listen().value();
    auto const middle = std::make_shared<test::proxy>(io, server.port());
    middle->start();
    auto through = client_options(server, "sqs.test.example");
    through.connections.proxy = middle->url();
    sqs::client client(io.get_executor(), through);
    auto const where = "https://sqs.test.example:" + std::to_string(server.port());
    BOOST_TEST(test::run(io, work(client)).value() == where + "/000000000000/orders");
    BOOST_TEST(middle->heads.size() == 2u);
    middle->die();
}

BOOST_AUTO_TEST_CASE(a_handshake_that_never_begins_ends_at_its_deadline)
{
    options.handshake_timeout = 20ms;
    broker::server server(io.get_executor(), options);
    server.listen().value();
    asio::ip::tcp::socket silent(io);
    silent.connect({asio::ip::address_v4::loopback(), server.port()});
    boost::system::error_code ended;
    char byte = 0;
    silent.async_read_some(asio::buffer(&byte, 1), [&](boost::system::error_code ec, std::size_t) {
        ended = ec;
        io.stop();
    });
    io.run();
    BOOST_TEST(ended.failed());
    BOOST_TEST(server.counters().cut_connections == 1u);
}

// The consumer's own client does the same: it must outlive a proxy that is restarted.
BOOST_AUTO_TEST_CASE(a_proxy_that_dies_between_two_calls_costs_retries_and_nothing_else)
{
    broker::server server(io.get_executor(), options);
    server.listen().value();
    auto const middle = std::make_shared<test::proxy>(io, server.port());
    middle->start();
    auto through = client_options(server, "sqs.test.example");
    through.connections.proxy = middle->url();
    through.retries.transient_base = 1ms;
    through.retries.max_attempts = 100;
    sqs::client client(io.get_executor(), through);
    BOOST_TEST(test::run(io, work(client)).has_value());

    middle->die();
    asio::steady_timer soon(io, 5ms); // some attempts meet a closed port
    soon.async_wait([&](boost::system::error_code) { middle->revive(); });
    BOOST_TEST(test::run(io, work(client)).has_value());
    middle->die();
}

BOOST_AUTO_TEST_CASE(a_client_that_does_not_trust_it_says_why_and_what_to_do)
{
    broker::server server(io.get_executor(), options);
    server.listen().value();
    auto wary = client_options(server, "127.0.0.1");
    sqs::client wrong_name(io.get_executor(), wary);
    auto const named = test::run(io, work(wrong_name));
    BOOST_REQUIRE(named.has_error());
    BOOST_TEST(named.error().message.find("for sqs.test.example, not for 127.0.0.1") != string::npos);
    wary.connections.ca_bundle = certificate("Other Authority").save(file("other.pem"));
    sqs::client other(io.get_executor(), wary);
    BOOST_TEST(test::run(io, work(other)).error().message.find("AWS_CA_BUNDLE") != string::npos);
}

BOOST_AUTO_TEST_CASE(files_that_cannot_work_are_refused_by_name)
{
    auto const refusal = [&] {
        auto const wrong = options.validate();
        return wrong ? wrong->message : "none";
    };
    BOOST_TEST(refusal() == "none");
    options.tls_key = certificate("other").save_key(file("other-key.pem"));
    BOOST_TEST(refusal().find("tls_key") != string::npos);
    options.tls_key = "/nowhere/key.pem";
    BOOST_TEST(refusal().find("/nowhere/key.pem") != string::npos);
    options.tls_key.clear();
    BOOST_TEST(refusal().find("tls_key") != string::npos);
    options.tls_certificate.clear();
    options.tls_key = file("broker-key.pem");
    BOOST_TEST(refusal().find("tls_certificate") != string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
