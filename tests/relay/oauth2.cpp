// Tokens of an authorization server: what is asked, what an answer means, when another one is asked for.

#include "relay/relayed.hpp"

#include <quern/relay/detail/oauth2.hpp>

using namespace quern;
using namespace quern::test;
using relay::detail::token_in;
using relay::detail::token_request;

namespace {

relay::oauth2_options some_server()
{
    relay::oauth2_options out;
    out.token_url = net::parse_url("https://id.example.com/token?tenant=7").value();
    out.client_id = "a b";
    out.secret = "s&:cret";
    return out;
}

net::response answer_of(int status, std::string body)
{
    net::response out;
    out.status = status;
    out.body = std::move(body);
    return out;
}

/// A relay in front of a web service that takes the newest token only, and the server that gives out "t1", "t2", ….
struct guarded : relayed {
    int asked = 0;                   ///< for a token
    int given = 0;                   ///< the newest
    std::optional<int> token_status; ///< instead of a token
    bool refuses_all = false;

    guarded()
    {
        how.oauth2 = some_server();
        service.answer = [this](net::web_hook_request const& r) {
            if (r.to.host == "id.example.com") return token();
            auto const newest = "Bearer t" + std::to_string(given);
            auto const named = std::pair<std::string, std::string>("Authorization", newest);
            return paper_service::status(!refuses_all && std::ranges::count(r.headers, named) == 1 ? 200 : 401);
        };
    }

    net::web_hook_result token()
    {
        ++asked;
        if (token_status) return answer_of(*token_status, R"({"error":"invalid_client"})");
        return answer_of(
            200, R"({"token_type":"Bearer","expires_in":3600,"access_token":"t)" + std::to_string(++given) + "\"}");
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(relay_oauth2)

BOOST_AUTO_TEST_CASE(a_token_is_asked_for_as_rfc_6749_wants_it)
{
    auto o = some_server();
    auto const plain = token_request(o, o.secret);
    BOOST_TEST(plain.to.path == "/token?tenant=7");
    BOOST_TEST(plain.body == "grant_type=client_credentials");
    auto const basic = std::pair<std::string, std::string>("Authorization", "Basic YSUyMGI6cyUyNiUzQWNyZXQ=");
    BOOST_TEST(std::ranges::count(plain.headers, basic) == 1); // a%20b:s%26%3Acret
    o.scope = "read write";
    o.audience = "https://shop";
    o.secret_in_body = true;
    auto const all = token_request(o, o.secret);
    BOOST_TEST(all.body ==
        "grant_type=client_credentials&scope=read%20write&audience=https%3A%2F%2Fshop&client_id=a%20b"
        "&client_secret=s%26%3Acret");
    BOOST_TEST(std::ranges::count(all.headers, "Authorization", [](auto const& h) { return h.first; }) == 0);
}

BOOST_AUTO_TEST_CASE(an_answer_has_a_token_and_its_end_or_says_why_not)
{
    wall_time const at(std::chrono::hours(1));
    struct row {
        int status;
        std::string body, token, error;
        std::optional<int> life;
    };
    row const rows[] = {
        {200, R"({"access_token":"t","token_type":"bearer","expires_in":60})", "t", "", 60},
        {200, R"({"access_token":"t","token_type":"Bearer","expires_in":"60"})", "t", "", 60},
        {200, R"({"access_token":"t","expires_in":59.5})", "t", "", 59},
        {200, R"({"access_token":"t"})", "t", "", {}},
        {200, R"({"access_token":""})", "", "the answer has no access_token", {}},
        {200, R"({"access_token":"a\nb"})", "", "line break", {}},
        {200, R"({"access_token":"t","token_type":"mac"})", "", "type is not bearer", {}},
        {200, "<html>", "", "the answer has no access_token", {}},
        {401, R"({"error":"invalid_client","error_description":"s&:cret"})", "", "HTTP 401 invalid_client", {}},
        {503, "", "", "HTTP 503", {}},
        {302, "", "", "HTTP 302", {}},
    };
    for (auto const& r : rows) {
        auto const got = token_in(answer_of(r.status, r.body), at);
        BOOST_TEST(got.has_value() == r.error.empty(), r.body);
        if (got) BOOST_TEST(got->session_token == r.token);
        if (got)
            BOOST_TEST(
                (got->expires_at == (r.life ? std::optional(at + std::chrono::seconds(*r.life)) : std::nullopt)));
        if (got) continue;
        BOOST_TEST(got.error().message.find(r.error) != std::string::npos, got.error().message);
        BOOST_TEST(got.error().retryable);
    }
}

BOOST_FIXTURE_TEST_CASE(a_token_serves_all_requests_until_shortly_before_it_ends, guarded)
{
    service.takes = 50ms;
    send(50);
    begin();
    BOOST_TEST(until(10s, [this] { return empty(); }));
    BOOST_TEST(asked == 1); // however many had none
    time.run_for(io, 61min);
    send_now("later");
    BOOST_TEST(until(10s, [this] { return empty(); }));
    BOOST_TEST(asked == 2);
    BOOST_TEST(it->counters().acked == 51u);
    BOOST_TEST(to->counters().retried + to->counters().unavailable == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_token_that_is_refused_is_renewed_and_the_request_made_again_once, guarded)
{
    begin();
    send_now("a");
    BOOST_TEST(until(10s, [this] { return empty(); }));
    ++given; // revoked
    send_now("b");
    BOOST_TEST(until(1s, [this] { return empty(); }));
    BOOST_TEST(asked == 2);
    BOOST_TEST(service.seen("b") == 2);
    BOOST_TEST(to->counters().unavailable == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_service_that_refuses_every_token_is_down_and_brings_no_flood_of_them, guarded)
{
    auto const dead = allow_receives("3");
    refuses_all = true;
    send(50);
    begin();
    time.run_for(io, 5min);
    BOOST_TEST(asked < 20);
    BOOST_TEST(in(dead) == 0);
    refuses_all = false;
    BOOST_TEST(until(15min, [this] { return empty(); }));
    BOOST_TEST(in(dead) == 0);
}

BOOST_FIXTURE_TEST_CASE(while_there_is_no_token_nothing_is_sent_and_nothing_counts_against_the_messages, guarded)
{
    auto const dead = allow_receives("3");
    token_status = 401;
    send(50);
    begin();
    time.run_for(io, 30min);
    BOOST_TEST(in(dead) == 0);
    BOOST_TEST(asked < 60);
    BOOST_TEST(std::ranges::count(service.requests, "service", [](auto const& r) { return r.to.host; }) == 0);
    BOOST_TEST(logged("no token by OAuth2: HTTP 401 invalid_client"));
    BOOST_TEST(!logged("s&:cret"));
    token_status.reset();
    BOOST_TEST(until(15min, [this] { return empty(); }));
    BOOST_TEST(in(dead) == 0);
}

BOOST_FIXTURE_TEST_CASE(a_drain_does_not_wait_for_a_server_that_does_not_answer, guarded)
{
    service.takes = 10min;
    how.oauth2->timeout = 5min;
    send(3);
    begin();
    time.run_for(io, 1s);
    BOOST_TEST(service.requests.size() == 1u);
    BOOST_TEST(drained(2s).clean());
}

BOOST_FIXTURE_TEST_CASE(options_of_tokens_that_cannot_work_are_refused, guarded)
{
    auto const wrong = [this](auto change) {
        auto o = how;
        change(o);
        auto const why = o.validate();
        return why ? why->message : "";
    };
    BOOST_TEST(wrong([](auto&) {}) == "");
    BOOST_TEST(wrong([](auto& o) { o.bearer_file = "x"; }).starts_with("bearer_file, basic_file and oauth2"));
    BOOST_TEST(wrong([](auto& o) { o.oauth2->client_id = ""; }) == "oauth2 needs a client_id");
    BOOST_TEST(wrong([](auto& o) { o.oauth2->secret = ""; }).starts_with("oauth2 needs a secret"));
    BOOST_TEST(wrong([](auto& o) { o.oauth2->token_url.tls = false; }).find("https") != std::string::npos);
    BOOST_TEST(wrong([](auto& o) {
        o.oauth2->token_url.tls = false;
        o.oauth2->token_url.host = "127.0.0.1";
    }) == "");
    BOOST_TEST(wrong([](auto& o) { o.oauth2->token_url = net::endpoint(); }) == "oauth2 needs a token_url");
}

BOOST_AUTO_TEST_SUITE_END()
