// The driver, on virtual time, with a web service of paper.

#include "relay/relayed.hpp"

#include <utility>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

BOOST_FIXTURE_TEST_SUITE(relay_driver, relayed)

BOOST_AUTO_TEST_CASE(each_message_becomes_a_request_and_a_success_deletes_it)
{
    send(25);
    begin();
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(service.requests.size() == 25u);
    BOOST_TEST(service.requests.front().to.path == "/hook");
    BOOST_TEST(service.requests.front().to.host == "service");
    BOOST_TEST(to->counters().acked == 25u);
    BOOST_TEST(it->counters().acked == 25u);
}

BOOST_AUTO_TEST_CASE(half_an_hour_without_the_service_sends_no_message_to_the_dead_letter_queue)
{
    auto const dead = allow_receives("3");
    auto const up_at = time.now() + 30min;
    service.answer = [&](auto const&) {
        return time.now() < up_at ? paper_service::fault(net::web_hook_fault::not_connected)
                                  : paper_service::status(200);
    };
    begin();
    for (int i = 0; i < 60; ++i) {
        send_now(5);
        time.run_for(io, 30s);
    }
    BOOST_TEST(until(20min, [this] { return empty(); }));
    BOOST_TEST(in(dead) == 0);
    BOOST_TEST(it->counters().acked == 300u);
    BOOST_TEST(service.requests.size() < 2'100u); // one a second at most, and each once more
}

BOOST_AUTO_TEST_CASE(messages_that_are_refused_one_by_one_do_not_stop_the_others)
{
    service.answer = [](net::web_hook_request const& r) {
        return paper_service::status(r.body.ends_with('7') ? 404 : 200);
    };
    send(100);
    begin();
    time.run_for(io, 5s);
    BOOST_TEST(it->counters().acked == 90u);
    BOOST_TEST(logged("HTTP 404; retried, though no try is likely to help"));
}

// By themselves they would open the breaker: every call fails.
BOOST_AUTO_TEST_CASE(a_queue_of_messages_with_faults_of_their_own_is_no_outage)
{
    service.answer = [](auto const&) { return paper_service::status(422); };
    send(100);
    begin();
    time.run_for(io, 5s);
    BOOST_TEST(to->counters().retried >= 100u);
    BOOST_TEST(explained().find("breaker") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_service_that_answers_500_to_all_is_an_outage)
{
    service.answer = [](auto const&) { return paper_service::status(500); };
    send(100);
    begin();
    time.run_for(io, 30s);
    BOOST_TEST(explained().find("breaker") != std::string::npos, explained());
}

BOOST_AUTO_TEST_CASE(one_tenant_of_ten_is_down_and_the_others_are_none_the_wiser)
{
    how.request.url = relay::url_template::parse("http://service/{{body:/tenant}}").value();
    options.outage.dependency = relay::dependency_by(
        relay::text_template::parse("{{body:/tenant}}").value(), relay::queue_name::from_url(url, "us-east-1"));
    service.answer = [](net::web_hook_request const& r) {
        return r.to.path == "/t3" ? paper_service::fault(net::web_hook_fault::not_connected)
                                  : paper_service::status(200);
    };
    begin();
    for (int i = 0; i < 200; ++i)
        send_now(R"({"tenant":"t)" + std::to_string(i % 10) + R"("})");
    time.run_for(io, 30s);
    BOOST_TEST(it->counters().acked == 180u);
    auto const to_t3 = std::ranges::count(service.requests, "/t3", [](auto const& r) { return r.to.path; });
    BOOST_TEST(to_t3 < 60); // 20 at once and once more, then one a second at most
    BOOST_TEST(explained().find("t3") != std::string::npos, explained());
}

BOOST_AUTO_TEST_CASE(a_slow_request_keeps_its_message_and_holds_up_nobody_else)
{
    service.takes = 10min;
    send(1);
    begin();
    time.run_for(io, 1s);
    service.takes = 0ms;
    send_now(50);
    time.run_for(io, 5s);
    BOOST_TEST(it->counters().acked == 50u);
    BOOST_TEST(until(11min, [this] { return empty(); }));
    BOOST_TEST(service.seen("m0") == 1);
    BOOST_TEST(it->counters().acked == 51u);
}

BOOST_AUTO_TEST_CASE(a_request_whose_lease_is_lost_is_cancelled)
{
    options.limits.max_in_flight =
        1; // no receive is open that could bring the message back here, where it would be adopted
    api.on_change = [] { return std::optional(failure(errc::timed_out, "no answer", true)); };
    service.takes = 10min;
    send(1);
    begin();
    BOOST_TEST(until(2min, [this] { return service.cut == 1; }));
    BOOST_TEST(to->counters().acked == 0u);
    BOOST_TEST(it->counters().acked == 0u);
}

BOOST_AUTO_TEST_CASE(a_message_of_which_no_request_can_be_made_is_retried_or_kept_in_the_poison_queue)
{
    how.request.url = relay::url_template::parse("http://service/{{attr.tenant}}").value();
    send(1);
    begin();
    time.run_for(io, 500ms);
    BOOST_TEST(service.requests.empty());
    BOOST_TEST(to->counters().rejected == 1u);
    BOOST_TEST(it->counters().rejected == 0u); // it would be deleted
    BOOST_TEST(logged("template: URL: the message has no {{attr.tenant}}"));
}

BOOST_AUTO_TEST_CASE(with_a_poison_queue_it_goes_there)
{
    how.request.url = relay::url_template::parse("http://service/{{attr.tenant}}").value();
    options.poison_queue = engine.create_queue(sqs::create_queue_request("poison"), time.wall()).value().queue_url;
    send(1);
    begin();
    BOOST_TEST(until(10s, [this] { return empty(); }));
    BOOST_TEST(in(*options.poison_queue) == 1);
}

BOOST_AUTO_TEST_CASE(with_a_dead_letter_queue_it_goes_there_with_its_reason)
{
    how.request.url = relay::url_template::parse("http://service/{{attr.tenant}}").value();
    auto const dead = allow_receives("9");
    send(1);
    begin();
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(in(dead) == 1);
}

// Only one line came, of the 404s, "and 24 more like it".
BOOST_AUTO_TEST_CASE(each_status_has_its_line_with_try_and_delay)
{
    service.answer = [](net::web_hook_request const& r) {
        return paper_service::status(r.body.ends_with('1') ? 404 : r.body.ends_with('2') ? 500 : 200);
    };
    options.backoff = policy::backoff::fixed({7s});
    send(20);
    begin();
    time.run_for(io, 500ms);
    BOOST_TEST(logged("HTTP 404; retried, though no try is likely to help; try 1, again in 7 s"));
    BOOST_TEST(logged("HTTP 500; try 1, again in 7 s"));
    auto const of_500 = std::ranges::find(about, 500, &log_subject::status);
    BOOST_REQUIRE(of_500 != about.end());
    BOOST_TEST(of_500->attempt == 1);
    BOOST_TEST((of_500->delay == 7s));
    BOOST_TEST(to->counters().by_status[0] == 16u);
}

BOOST_AUTO_TEST_CASE(a_rule_with_tries_rejects_in_the_last_and_waits_by_its_own_backoff)
{
    relay::rule_line line{relay::status_set("409"), relay::action::retry, "", {}};
    line.by = policy::backoff::fixed({2s, 30s});
    line.tries = 3;
    how.outcome.lines = {line};
    options.poison_queue = engine.create_queue(sqs::create_queue_request("poison"), time.wall()).value().queue_url;
    service.answer = [](auto const&) { return paper_service::status(409); };
    send(1);
    begin();
    time.run_for(io, 20s);
    BOOST_TEST(service.requests.size() == 2u);
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(service.requests.size() == 3u);
    BOOST_TEST(in(*options.poison_queue) == 1);
    BOOST_TEST(logged("HTTP 409; tried 3 times"));
}

// SQS moves it without a word.
BOOST_AUTO_TEST_CASE(a_message_on_its_last_receive_leaves_its_last_reason_in_the_log)
{
    auto const dead = allow_receives("2");
    service.answer = [](auto const&) { return paper_service::status(404); };
    send(3);
    begin();
    BOOST_TEST(until(1min, [&] { return in(dead) == 3; }));
    auto const told =
        std::ranges::count_if(relay_log, [](auto const& line) { return line.starts_with("last receive: "); });
    BOOST_TEST(told == 3);
    BOOST_TEST(logged(
        "HTTP 404; retried, though no try is likely to help; try 2 was its last, the dead-letter queue takes it"));
}

BOOST_AUTO_TEST_CASE(with_max_tries_it_takes_the_reason_along)
{
    auto const dead = allow_receives("2");
    options.max_tries = 2;
    service.answer = [](auto const&) { return paper_service::status(500); };
    send(1);
    begin();
    BOOST_TEST(until(1min, [&] { return in(dead) == 1; }));
    BOOST_TEST(logged("failed in receive 2, and max_tries is 2; at last: HTTP 500"));
}

BOOST_AUTO_TEST_CASE(a_rule_that_says_halt_is_told_once_and_gives_the_message_back)
{
    how.outcome.lines = {{relay::status_set("418"), relay::action::halt, "a teapot", {}}};
    service.answer = [](auto const&) { return paper_service::status(418); };
    send(1);
    begin();
    std::vector<std::string> halts;
    to->on_halt([&](std::string const& why) {
        halts.push_back(why);
        it->stop(10s);
    });
    time.run_for(io, 15s);
    BOOST_TEST(halts == std::vector<std::string>{"a teapot (HTTP 418)"}, boost::test_tools::per_element());
    BOOST_TEST(visible() == 1);
}

BOOST_AUTO_TEST_CASE(a_lambda_answer_decides_though_its_status_is_200)
{
    how.request.format = relay::body_format::lambda;
    options.system_attributes = relay::system_attributes_for(how.request);
    service.answer = [](net::web_hook_request const& r) {
        auto const id = r.body.substr(r.body.find("messageId") + 12, 36);
        net::response out;
        out.status = 200;
        if (r.body.find(R"("body":"m0")") != r.body.npos) out.body = R"({"errorType":"Error","errorMessage":"no"})";
        if (r.body.find(R"("body":"m1")") != r.body.npos)
            out.body = R"({"batchItemFailures":[{"itemIdentifier":")" + id + R"("}]})";
        if (r.body.find(R"("body":"m2")") != r.body.npos) out.body = "OK";
        return net::web_hook_result(out);
    };
    send(5);
    begin();
    time.run_for(io, 500ms);
    BOOST_TEST(it->counters().acked == 2u);
    BOOST_TEST(to->counters().retried == 3u);
    BOOST_TEST(logged("the function failed: Error"));
}

BOOST_AUTO_TEST_CASE(of_a_batch_only_the_messages_that_the_answer_names_come_again)
{
    bool first = true;
    service.answer = [&](net::web_hook_request const& r) {
        net::response out;
        out.status = 200;
        auto const at = r.body.find(R"("body":"m3")");
        if (std::exchange(first, false) && at != r.body.npos) {
            auto const id = r.body.substr(r.body.rfind("messageId", at) + 12, 36);
            out.body = R"({"batchItemFailures":[{"itemIdentifier":")" + id + R"("}]})";
        }
        return net::web_hook_result(out);
    };
    send(10);
    begin_batches();
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(service.requests.size() == 2u);
    BOOST_TEST(to->counters().acked == 10u);
    BOOST_TEST(to->counters().retried == 1u);
    BOOST_TEST(to->counters().requests == 2u);
}

// Nine good messages were deleted for the sake of one.
BOOST_AUTO_TEST_CASE(a_status_that_rejects_is_about_one_message_and_a_batch_is_put_off)
{
    how.outcome.reject = relay::status_set("400");
    service.answer = [&](auto const&) { return paper_service::status(service.requests.size() == 1 ? 400 : 200); };
    send(10);
    begin_batches();
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(to->counters().rejected == 0u);
    BOOST_TEST(to->counters().retried == 10u);
    BOOST_TEST(to->counters().acked == 10u);
}

BOOST_AUTO_TEST_CASE(a_reply_is_sent_before_its_message_is_deleted)
{
    std::vector<std::string> replies;
    how.reply = [&](delivery const& d, net::response const& a) -> asio::awaitable<result<void>> {
        BOOST_TEST(api.deletes == 0);
        replies.push_back(std::string(d.body()) + " " + std::to_string(a.status) + " " + a.body);
        result<void> out;
        if (replies.size() == 1) out = failure(errc::throttled, "too fast", true);
        co_return out;
    };
    service.answer = [](auto const&) {
        net::response out;
        out.status = 200;
        out.body = "done";
        return net::web_hook_result(out);
    };
    send(1);
    begin();
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(replies == (std::vector<std::string>(2, "m0 200 done")), boost::test_tools::per_element());
    BOOST_TEST(service.requests.size() == 2u);
    BOOST_TEST(logged("its reply cannot be sent: throttled"));
}

// The work was done three times, and its message was dead.
BOOST_AUTO_TEST_CASE(a_reply_that_no_queue_can_ever_take_does_not_have_the_work_done_again)
{
    how.reply = [&](delivery const&, net::response const&) -> asio::awaitable<result<void>> {
        result<void> out = failure(errc::invalid_request, "contains a character that a message may not have");
        co_return out;
    };
    send(1);
    begin();
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(service.requests.size() == 1u);
    BOOST_TEST(to->counters().unreplied == 1u);
    BOOST_TEST(logged("no reply: "));
}

BOOST_AUTO_TEST_CASE(options_that_cannot_work_are_refused_by_name)
{
    how.bearer_file = "a";
    how.basic_file = "b";
    BOOST_CHECK_THROW(begin(), boost::system::system_error);
    how.basic_file.clear();
    how.bearer_file.clear();
    how.batches = true;
    BOOST_CHECK_THROW(begin(), boost::system::system_error); // not with raw bodies
    how.batches = false;
    how.bearer_file = "/nonexistent/token";
    BOOST_CHECK_THROW(begin(), boost::system::system_error);
    how.bearer_file.clear();
    how.secret_files = {"/nonexistent/secret"};
    how.request.extra.push_back(relay::header_template::parse("Webhook-Signature: v1,x").value());
    BOOST_TEST(how.validate()->message.starts_with("a signed request gets its headers"));
}

BOOST_AUTO_TEST_SUITE_END()
