#include "server_fixture.hpp"

using namespace quern;
using namespace quern::test;
using namespace quern::detail;
using namespace quern::aws::detail;
using namespace std::chrono_literals;

namespace {

aws::credentials const known{"quern", "quern", ""};
aws::credentials const temporary{"ASIATEMPORARY", "secret/with+signs", "token=="};

struct guarded {
    running_server server{options()};
    raw_client client = server.connect();

    static broker::server_options options()
    {
        broker::server_options out;
        out.keys.push_back(temporary);
        return out;
    }

    reply call(aws::credentials const& who, tick::duration age = {}, std::string_view more = {})
    {
        auto const at = server.wall() - std::chrono::duration_cast<wall_time::duration>(age);
        return client.call("ListQueues", "{}", signature_headers("ListQueues", "{}", who, at) + std::string(more));
    }
};

void check_refused(reply const& answer, int status, std::string_view type, std::string_view code)
{
    BOOST_TEST(answer.status == status);
    BOOST_TEST(answer.type() == "com.amazon.coral.service#" + std::string(type));
    BOOST_TEST(answer.fields.at("x-amzn-query-error") == std::string(code) + ";Sender");
    BOOST_TEST(!answer.message().empty());
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_auth)

BOOST_FIXTURE_TEST_CASE(signed_requests_are_served, guarded)
{
    BOOST_TEST(call(known).status == 200);
    BOOST_TEST(call(temporary).status == 200);
    BOOST_TEST(call(known).status == 200); // with the cached key
}

BOOST_FIXTURE_TEST_CASE(headers_that_were_not_signed_do_not_matter, guarded)
{
    BOOST_TEST(call(known, {}, "User-Agent: x\r\nX-Amzn-Trace-Id: y\r\n").status == 200);
}

BOOST_FIXTURE_TEST_CASE(what_is_asked_for_must_be_signed_and_named_once, guarded)
{
    auto const unsigned_target = [&](std::string_view target) {
        request_view view;
        view.method = "POST";
        view.target = "/";
        view.headers = {{"Host", "broker.test:9324"}};
        view.body = "{}";
        signing_keys keys;
        signing_scope const scope{text::timestamp(server.wall()), "us-east-1", "sqs"};
        std::string headers;
        for (auto const& [name, value] : sign(view, known, scope, {}, keys).added)
            headers += name + ": " + value + "\r\n";
        return client.call(target, "{}", headers);
    };
    check_refused(unsigned_target("ListQueues"), 403, "InvalidSignatureException", "SignatureDoesNotMatch");
    for (auto const* twice : {"X-Amz-Target: AmazonSQS.PurgeQueue\r\n", "X-Amz-Date: 20260102T030405Z\r\n",
             "Authorization: AWS4-HMAC-SHA256 x\r\n", "Host: localhost\r\n"}) {
        check_refused(call(known, {}, twice), 400, "SerializationException", "MalformedInput");
    }
}

BOOST_FIXTURE_TEST_CASE(a_body_that_is_not_signed_is_refused, guarded)
{
    request_view view;
    view.method = "POST";
    view.target = "/";
    view.headers = {{"Host", "broker.test:9324"}, {"X-Amz-Target", "AmazonSQS.ListQueues"}};
    signing_keys keys;
    signing_options how;
    how.sign_body = true;
    how.payload_hash = "UNSIGNED-PAYLOAD";
    std::string headers;
    signing_scope const scope{text::timestamp(server.wall()), "us-east-1", "sqs"};
    for (auto const& [name, value] : sign(view, known, scope, how, keys).added)
        headers += name + ": " + value + "\r\n";
    check_refused(
        client.call("ListQueues", "{}", headers), 403, "InvalidSignatureException", "SignatureDoesNotMatch");
}

// A page in a browser reached the broker under a name of its own that resolves to 127.0.0.1.
BOOST_AUTO_TEST_CASE(on_the_loopback_only_hosts_of_the_loopback_are_served_and_those_listed)
{
    running_server server;
    auto client = server.connect();
    auto const ask = [](raw_client& asking, std::string_view host) {
        asking.send("POST / HTTP/1.1\r\nHost: " + std::string(host) +
            "\r\nX-Amz-Target: AmazonSQS.ListQueues\r\nContent-Length: 2\r\n\r\n{}");
        return asking.receive();
    };
    auto const from = [&](std::string_view host) { return ask(client, host); };
    BOOST_TEST(from("localhost:1").status == 200);
    BOOST_TEST(from("broker.test").status == 200);
    check_refused(from("evil.example"), 403, "AccessDeniedException", "AccessDenied");
    client.send("GET /health HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    BOOST_TEST(client.receive().status == 403);

    auto anywhere = running_server::unsigned_options();
    anywhere.host = "0.0.0.0";
    running_server open(anywhere);
    auto other = open.connect();
    BOOST_TEST(ask(other, "evil.example").status == 200);

    anywhere.hosts = {"sqs"};
    running_server listed(anywhere);
    auto third = listed.connect();
    for (auto const* const good : {"sqs:9324", "10.0.0.7:9324", "localhost"})
        BOOST_TEST(ask(third, good).status == 200, good);
    BOOST_TEST(ask(third, "evil.example").status == 403);
}

BOOST_FIXTURE_TEST_CASE(a_request_without_a_signature_is_refused_and_the_connection_stays, guarded)
{
    check_refused(
        client.call("ListQueues", "{}"), 403, "MissingAuthenticationTokenException", "MissingAuthenticationToken");
    BOOST_TEST(call(known).status == 200);
}

BOOST_FIXTURE_TEST_CASE(an_unknown_key_is_refused, guarded)
{
    check_refused(call({"nobody", "quern", ""}), 403, "UnrecognizedClientException", "InvalidClientTokenId");
}

BOOST_FIXTURE_TEST_CASE(a_session_token_that_is_not_the_keys_own_is_refused, guarded)
{
    auto stale = temporary;
    stale.session_token = "stale";
    check_refused(call(stale), 403, "UnrecognizedClientException", "InvalidClientTokenId");
}

BOOST_FIXTURE_TEST_CASE(a_wrong_secret_is_refused, guarded)
{
    check_refused(call({"quern", "wrong", ""}), 403, "InvalidSignatureException", "SignatureDoesNotMatch");
}

BOOST_FIXTURE_TEST_CASE(a_body_other_than_the_one_signed_is_refused, guarded)
{
    auto const headers = signature_headers("ListQueues", "{}", known, server.wall());
    check_refused(
        client.call("ListQueues", "{ }", headers), 403, "InvalidSignatureException", "SignatureDoesNotMatch");
    check_refused(
        client.call("CreateQueue", "{}", headers), 403, "InvalidSignatureException", "SignatureDoesNotMatch");
}

BOOST_FIXTURE_TEST_CASE(a_signature_is_good_for_a_quarter_of_an_hour, guarded)
{
    BOOST_TEST(call(known, 14min).status == 200);
    BOOST_TEST(call(known, -14min).status == 200);
    for (auto const age : {16min, -16min}) {
        auto const answer = call(known, age);
        check_refused(answer, 403, "InvalidSignatureException", "SignatureDoesNotMatch");
        BOOST_TEST(answer.message().find(age > 0min ? "Signature expired: " : "Signature not yet current: ") == 0u);
    }
    server.advance(1h); // the broker's own clock, not the machine's
    auto later = server.connect();
    auto const headers = signature_headers("ListQueues", "{}", known, server.wall());
    BOOST_TEST(later.call("ListQueues", "{}", headers).status == 200);
}

BOOST_FIXTURE_TEST_CASE(a_malformed_signature_is_refused, guarded)
{
    auto const with = [&](std::string_view authorization) {
        return client.call("ListQueues", "{}",
            "X-Amz-Date: 20260102T030405Z\r\nAuthorization: " + std::string(authorization) + "\r\n");
    };
    for (auto const* const text :
        {"Bearer x", "AWS4-HMAC-SHA256", "AWS4-HMAC-SHA256 Credential=quern/x, SignedHeaders=host, Signature=0"})
        check_refused(with(text), 400, "IncompleteSignatureException", "IncompleteSignature");
}

BOOST_FIXTURE_TEST_CASE(a_signature_for_another_service_is_refused, guarded)
{
    request_view view;
    view.method = "POST";
    view.target = "/";
    view.headers = {{"Host", "broker.test:9324"}, {"X-Amz-Target", "AmazonSQS.ListQueues"}};
    view.body = "{}";
    signing_keys keys;
    std::string headers;
    signing_scope const scope{text::timestamp(server.wall()), "us-east-1", "dynamodb"};
    for (auto const& [name, value] : sign(view, known, scope, {}, keys).added)
        headers += name + ": " + value + "\r\n";
    auto const answer = client.call("ListQueues", "{}", headers);
    check_refused(answer, 403, "InvalidSignatureException", "SignatureDoesNotMatch");
    BOOST_TEST(answer.message() == "Credential should be scoped to correct service: 'sqs'.");
}

BOOST_AUTO_TEST_CASE(queues_are_in_the_region_and_account_that_a_request_is_signed_for)
{
    for (bool const checked : {true, false}) {
        broker::server_options options;
        options.check_signatures = checked;
        options.keys.push_back({"other", "secret", ""});
        options.accounts["other"] = "123456789012";
        running_server server(options);
        auto client = server.connect();
        auto const arn = [&](aws::credentials const& who, std::string_view region) {
            auto const ask = [&](std::string_view operation, std::string_view body) {
                return client.call(operation, body, signature_headers(operation, body, who, server.wall(), region));
            };
            auto const url =
                std::string(ask("CreateQueue", R"({"QueueName":"q"})").json().at("QueueUrl").as_string());
            auto const answer = ask("GetQueueAttributes", R"({"AttributeNames":["All"],"QueueUrl":")" + url + "\"}");
            return std::string(answer.json().at("Attributes").at("QueueArn").as_string());
        };
        BOOST_TEST(arn(known, "us-east-1") == "arn:aws:sqs:us-east-1:000000000000:q");
        BOOST_TEST(arn(known, "eu-west-1") == "arn:aws:sqs:eu-west-1:000000000000:q");
        BOOST_TEST(arn({"other", "secret", ""}, "eu-west-1") == "arn:aws:sqs:eu-west-1:123456789012:q");
        if (!checked) BOOST_TEST(arn(known, "a:b") == "arn:aws:sqs:us-east-1:000000000000:q");
    }
}

BOOST_AUTO_TEST_CASE(without_checks_anyone_is_served)
{
    running_server server;
    auto client = server.connect();
    BOOST_TEST(client.call("ListQueues", "{}").status == 200);
    BOOST_TEST(client.call("ListQueues", "{}", "Authorization: nonsense\r\n").status == 200);
}

BOOST_AUTO_TEST_CASE(options_that_cannot_work_are_refused_by_name)
{
    auto const refusal = [](auto change) {
        broker::server_options options;
        change(options);
        auto const why = options.validate();
        return why ? why->message.substr(0, why->message.find(':')) : "none";
    };
    using options = broker::server_options;
    BOOST_TEST(refusal([](options&) {}) == "none");
    BOOST_TEST(refusal([](options& o) { o.host = "localhost"; }) == "server_options.host");
    BOOST_TEST(refusal([](options& o) { o.keys.clear(); }) == "server_options.keys");
    BOOST_TEST(refusal([](options& o) { o.keys.clear(), o.check_signatures = false; }) == "none");
    BOOST_TEST(refusal([](options& o) { o.keys[0].secret_access_key.clear(); }) == "server_options.keys");
    BOOST_TEST(refusal([](options& o) { o.accounts["k"] = "12"; }) == "server_options.accounts");
    BOOST_TEST(refusal([](options& o) { o.clock_skew = 0s; }) == "server_options.clock_skew");
    BOOST_TEST(refusal([](options& o) { o.max_header_bytes = 10; }) == "server_options.max_header_bytes");
    BOOST_TEST(
        refusal([](options& o) { o.max_header_bytes = std::size_t(-1); }) == "server_options.max_header_bytes");
    BOOST_TEST(refusal([](options& o) { o.idle_timeout = 0ms; }) == "server_options.idle_timeout");
    BOOST_TEST(refusal([](options& o) { o.header_timeout = 25h; }) == "server_options.header_timeout");
    BOOST_TEST(refusal([](options& o) { o.max_connections = 0; }) == "server_options.max_connections");
    BOOST_TEST(refusal([](options& o) { o.max_unproven_bytes = 0; }) == "server_options.max_unproven_bytes");
    BOOST_TEST(refusal([](options& o) { o.max_body_bytes = 0; }) == "server_options.max_body_bytes");

    boost::asio::io_context io;
    options wrong;
    wrong.host = "localhost";
    BOOST_CHECK_THROW(broker::server(io.get_executor(), wrong), boost::system::system_error);
}

BOOST_AUTO_TEST_CASE(an_address_that_is_taken_is_a_failure_to_listen)
{
    running_server first;
    boost::asio::io_context io;
    broker::server_options options;
    options.port = first.port();
    broker::server second(io.get_executor(), options);
    auto const listening = second.listen();
    BOOST_REQUIRE(!listening);
    BOOST_TEST(listening.error().message.find("cannot listen on 127.0.0.1:") == 0u);
    BOOST_TEST(second.port() == 0);
}

BOOST_AUTO_TEST_SUITE_END()
