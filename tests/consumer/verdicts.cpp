#include "consumer/mill.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

struct judged : mill {
    std::string poison = engine.create_queue(sqs::create_queue_request("poison"), time.wall()).value().queue_url;

    std::vector<std::string> log_lines(char const* with)
    {
        std::vector<std::string> out;
        for (auto const& line : log)
            if (line.find(with) != std::string::npos) out.push_back(line);
        return out;
    }

    /// All that the poison queue holds.
    std::vector<sqs::message> poisoned()
    {
        sqs::receive_message_request ask(poison);
        ask.attribute_names = {"All"};
        kept = engine.receive_message(ask, time.wall()).value().answer;
        return kept.messages;
    }
    sqs::receive_message_response kept;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(verdicts, judged)

BOOST_AUTO_TEST_CASE(a_rejected_message_goes_to_the_poison_queue_with_its_reason)
{
    options.poison_queue = poison;
    sqs::send_message_request request(url, "m0");
    request.attributes["kind"] = {"String", "order"};
    engine.send_message(std::move(request), time.wall()).value();
    consume([](delivery&) -> asio::awaitable<outcome> { co_return reject("no such customer"); });
    BOOST_TEST(until(1min, [this] { return empty(); }));
    auto const there = poisoned();
    BOOST_REQUIRE(there.size() == 1u);
    BOOST_TEST(there[0].body == "m0");
    BOOST_TEST(there[0].attribute("kind")->value == "order");
    BOOST_TEST(there[0].attribute("QuernReason")->value == "no such customer");
    BOOST_TEST(log_lines("no poison queue").empty());
    BOOST_TEST(it->counters().rejected == 1u);
    BOOST_TEST(it->counters().acked == 0u);
}

BOOST_AUTO_TEST_CASE(without_a_poison_queue_it_is_deleted_and_the_log_says_so)
{
    send(1);
    consume([](delivery&) -> asio::awaitable<outcome> { co_return reject("no such customer"); });
    BOOST_TEST(until(1min, [this] { return empty(); }));
    auto const lines = log_lines("no such customer");
    BOOST_REQUIRE(lines.size() == 1u);
    BOOST_TEST(lines[0].ends_with("; deleted, there is no queue for it"));
    BOOST_TEST(it->counters().discarded == 1u);
    BOOST_TEST(log_lines("rejected messages will be deleted").size() == 1u);
}

// It was deleted all the same, and nothing said so before.
BOOST_AUTO_TEST_CASE(without_a_poison_queue_it_goes_to_the_dead_letter_queue_with_its_reason)
{
    poison = allow_receives("5");
    send(1);
    consume([](delivery&) -> asio::awaitable<outcome> { co_return reject("no such customer"); });
    BOOST_TEST(until(1min, [this] { return empty(); }));
    auto const there = poisoned();
    BOOST_REQUIRE(there.size() == 1u);
    BOOST_TEST(there[0].body == "m0");
    BOOST_TEST(there[0].attribute("QuernReason")->value == "no such customer");
    BOOST_TEST(it->counters().rejected == 1u);
    BOOST_TEST(it->counters().discarded == 0u);
    BOOST_TEST(log_lines("will be deleted").empty());
    BOOST_TEST(log_lines("no such customer").at(0).ends_with("; handed to " + poison));
}

BOOST_AUTO_TEST_CASE(a_handler_that_cannot_reject_is_not_warned)
{
    it.emplace(
        io.get_executor(), api, url, [](delivery&) -> asio::awaitable<void> { co_return; }, options);
    it->start();
    time.run_for(io, 1min);
    BOOST_TEST(log_lines("will be deleted").empty());
}

BOOST_AUTO_TEST_CASE(nothing_is_rejected_before_it_is_known_whether_there_is_a_dead_letter_queue)
{
    poison = allow_receives("50");
    auto const t0 = time.now();
    api.on_attributes = [this, t0]() -> std::optional<failure> {
        if (time.now() - t0 > 10s) return {};
        return failure(errc::service_error, "AccessDenied", false);
    };
    send(1);
    consume([](delivery&) -> asio::awaitable<outcome> { co_return reject("no such customer"); });
    BOOST_TEST(until(2min, [this] { return empty(); }));
    BOOST_TEST(runs.at("m0") > 1);
    BOOST_TEST(poisoned().size() == 1u);
    BOOST_TEST(it->counters().rejected == 1u);
}

// The consumer may receive and delete there, and no more: the redrive policy has the last word.
BOOST_AUTO_TEST_CASE(a_dead_letter_queue_that_takes_nothing_from_us_gets_it_by_the_redrive_policy)
{
    poison = allow_receives("3");
    api.on_send = [] { return std::optional(failure(errc::service_error, "AccessDenied")); };
    send(1);
    consume([](delivery&) -> asio::awaitable<outcome> { co_return reject("no such customer"); });
    BOOST_TEST(until(10min, [this] { return empty(); }));
    BOOST_TEST(runs.at("m0") == 3);
    BOOST_TEST(poisoned().size() == 1u);
    BOOST_TEST(it->counters().rejected == 0u);
}

// Copied first, deleted then: a poison queue that cannot be reached loses nothing.
BOOST_AUTO_TEST_CASE(a_message_is_deleted_only_after_the_poison_queue_has_it)
{
    options.poison_queue = poison;
    send(1);
    auto const t0 = time.now();
    api.on_send = [&]() -> std::optional<failure> {
        if (time.now() - t0 > 2min) return {};
        BOOST_TEST(api.deletes == 0);
        return failure(errc::connect_failed, "refused", true);
    };
    consume([](delivery&) -> asio::awaitable<outcome> { co_return reject("bad"); });
    BOOST_TEST(until(3min, [this] { return empty(); }));
    BOOST_TEST(poisoned().size() == 1u);
    BOOST_TEST(runs.at("m0") == 1); // its lease held
}

// A wrong poison queue looked like a wrong queue.
BOOST_AUTO_TEST_CASE(a_settlement_that_fails_names_the_queue_that_refused_it)
{
    auto const refused = [](mill& m) {
        return [&m, until = m.time.now() + 10s]() -> std::optional<failure> {
            if (m.time.now() > until) return {};
            return failure(errc::connect_failed, "refused", true);
        };
    };
    for (bool const hands_off : {true, false}) {
        judged m;
        m.options.poison_queue = m.poison;
        m.send(1);
        (hands_off ? m.api.on_send : m.api.on_delete) = refused(m);
        m.consume([=](delivery&) -> asio::awaitable<outcome> { co_return hands_off ? reject("bad") : ack(); });
        BOOST_TEST(m.until(1min, [&m] { return m.empty(); }));
        BOOST_TEST(m.mill::log_lines("settlement failed: " + (hands_off ? m.poison : m.url) + ": ") > 0);
        BOOST_TEST(m.mill::log_lines("settlement failed: " + (hands_off ? m.url : m.poison) + ": ") == 0);
    }
}

// No retry would help, and to delete it would lose it: it goes the way of a message that failed.
BOOST_AUTO_TEST_CASE(what_the_poison_queue_will_never_take_comes_back)
{
    options.poison_queue = poison;
    send(1);
    api.on_send = [] {
        failure why(errc::service_error, "no such queue");
        why.service_code = "AWS.SimpleQueueService.NonExistentQueue";
        return std::optional(why);
    };
    consume([](delivery& d) -> asio::awaitable<outcome> {
        auto const again = d.receive_count() > 1;
        co_return again ? ack() : reject("bad");
    });
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(runs.at("m0") == 2);
    BOOST_TEST(it->counters().rejected == 0u);
}

// A reason is whatever some exception said, and a body may leave no room for it.
BOOST_AUTO_TEST_CASE(no_reason_and_no_size_keeps_a_message_from_the_poison_queue)
{
    options.poison_queue = poison;
    std::string const large(1'048'576 - 5, 'x'), half(600'000, 'y');
    for (auto const& body : {std::string("a"), std::string("b"), large, half, half}) {
        sqs::send_message_request request(url, body);
        engine.send_message(std::move(request), time.wall()).value();
    }
    consume([](delivery& d) -> asio::awaitable<outcome> {
        if (d.body() == "a") co_return reject("");
        if (d.body() == "b") co_return reject(std::string("caf\xc3\xa9\x01\xff"));
        co_return reject("large");
    });
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(it->counters().rejected == 5u);
}

BOOST_AUTO_TEST_CASE(a_parse_error_is_logged_apart_and_treated_by_policy)
{
    for (auto const policy : {malformed_policy::retry, malformed_policy::reject, malformed_policy::discard}) {
        judged m;
        m.options.poison_queue = m.poison;
        m.options.on_malformed = policy;
        m.options.log_bodies = true;
        m.send(1);
        m.consume([](delivery& d) -> asio::awaitable<outcome> {
            auto const again = d.receive_count() > 1;
            if (!again) throw parse_error("no JSON");
            co_return ack();
        });
        BOOST_TEST(m.until(1min, [&m] { return m.empty(); }));
        auto const lines = m.log_lines("malformed message");
        BOOST_REQUIRE(lines.size() == 1u);
        BOOST_TEST(lines[0].find("no JSON; it begins: m0") != std::string::npos);
        BOOST_TEST(m.it->counters().malformed == 1u);
        BOOST_TEST(m.runs.at("m0") == (policy == malformed_policy::retry ? 2 : 1));
        BOOST_TEST(m.poisoned().size() == (policy == malformed_policy::reject ? 1u : 0u));
    }
}

BOOST_AUTO_TEST_CASE(a_damaged_message_is_logged_with_its_id_and_treated_by_the_same_policy)
{
    for (auto const policy : {malformed_policy::retry, malformed_policy::reject, malformed_policy::discard}) {
        judged m;
        m.options.poison_queue = m.poison;
        m.options.on_malformed = policy;
        m.options.log_bodies = true;
        std::string id;
        m.api.on_received = [&id](sqs::receive_message_response& got) {
            if (got.messages.empty() || got.messages[0].receive_count() > 1) return;
            id = std::string(got.messages[0].id);
            got.damaged.push_back(
                {0, got.messages[0], failure(errc::checksum_mismatch, "the body's digest is wrong")});
            got.messages.clear();
        };
        m.send(1);
        m.consume(fast);
        BOOST_TEST(m.until(1min, [&m] { return m.empty(); }));
        BOOST_TEST(m.runs.size() == (policy == malformed_policy::retry ? 1u : 0u)); // the whole copy
        BOOST_TEST(m.poisoned().size() == (policy == malformed_policy::reject ? 1u : 0u));
        auto const lines = m.log_lines("malformed message");
        BOOST_REQUIRE(lines.size() == 1u);
        BOOST_TEST(lines[0].find("malformed message: " + id + ": ") == 0u);
        BOOST_TEST(lines[0].find("the body's digest is wrong; it begins: m0") != std::string::npos);
    }
}

// A queue full of them: each comes as often as its backoff says, and the log says it once a second at most.
BOOST_AUTO_TEST_CASE(messages_that_nobody_can_read_are_no_hot_loop)
{
    options.outage.breaker.reset(); // it would stop all this
    send(200);
    consume([](delivery&) -> asio::awaitable<outcome> {
        co_await asio::post(asio::use_awaitable);
        throw parse_error(std::string(10'000, 'x'));
    });
    time.run_for(io, 10min);
    for (auto const& [body, times] : runs)
        BOOST_TEST(times <= 11); // 1 s, doubled, of which half is waited at least
    BOOST_TEST(log.size() <= 600u);
    for (auto const& line : log)
        BOOST_TEST(line.size() < 1'100u);
    BOOST_TEST(it->counters().acked == 0u);
}

BOOST_AUTO_TEST_CASE(a_message_comes_at_the_time_it_asks_for_though_that_is_beyond_what_sqs_can_hide)
{
    auto const due = time.wall() + 30h;
    send(1);
    consume([&](delivery&) -> asio::awaitable<outcome> {
        auto const early = time.wall() < due;
        co_return early ? retry_at(due) : ack();
    });
    time.run_for(io, 30h - 1s);
    BOOST_TEST(runs.at("m0") == 3); // at once, after 12 hours, after 24
    BOOST_TEST(until(3s, [this] { return empty(); }));
    BOOST_TEST(runs.at("m0") == 4);
}

BOOST_AUTO_TEST_CASE(a_time_is_kept_to_the_second_and_never_early)
{
    auto const due = time.wall() + 90'500ms;
    send(1);
    std::optional<wall_time> handled;
    consume([&](delivery&) -> asio::awaitable<outcome> {
        auto const now = time.wall();
        if (now < due) co_return retry_at(due);
        handled = now;
        co_return ack();
    });
    BOOST_TEST(until(2min, [this] { return empty(); }));
    BOOST_REQUIRE(handled.has_value());
    BOOST_TEST(*handled - due < 2s);
    BOOST_TEST(runs.at("m0") == 2);
}

BOOST_AUTO_TEST_CASE(a_time_that_is_past_is_now)
{
    send(1);
    consume([this](delivery& d) -> asio::awaitable<outcome> {
        auto const again = d.receive_count() > 1;
        co_return again ? ack() : retry_at(time.wall() - 24h);
    });
    BOOST_TEST(until(1s, [this] { return empty(); }));
}

BOOST_AUTO_TEST_CASE(the_user_says_what_an_exception_means)
{
    options.classify = [](std::exception_ptr thrown) -> std::optional<outcome> {
        try {
            std::rethrow_exception(thrown);
        } catch (std::out_of_range const&) {
            return ack();
        } catch (...) {
            return {};
        }
    };
    send(2);
    consume([](delivery& d) -> asio::awaitable<outcome> {
        auto const again = d.receive_count() > 1;
        auto const first = d.body() == "m0";
        if (again) co_return ack();
        if (first) throw std::out_of_range("done before");
        throw std::runtime_error("not yet");
    });
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(runs.at("m0") == 1);
    BOOST_TEST(runs.at("m1") == 2);
}

BOOST_AUTO_TEST_CASE(what_fails_for_longer_than_max_age_is_rejected)
{
    options.max_age = 1min;
    options.poison_queue = poison;
    send(1);
    auto const t0 = time.now();
    consume([](delivery&) -> asio::awaitable<outcome> { co_return retry(); });
    BOOST_TEST(until(5min, [this] { return empty(); }));
    BOOST_TEST(time.now() - t0 <= 62s);
    BOOST_TEST(time.now() - t0 >= 55s);
    BOOST_TEST(poisoned().size() == 1u);
}

// It was deleted, two seconds old, for the two hours by which the calendar was wrong.
BOOST_AUTO_TEST_CASE(a_step_of_the_calendar_makes_no_message_too_old)
{
    options.max_age = 1h;
    send(1);
    bool again = false;
    consume([&](delivery&) -> asio::awaitable<outcome> {
        if (std::exchange(again, true)) co_return ack();
        co_await pause(2s);
        time.jump_wall(2h); // the service's own calendar goes on: until it is measured again our reading is wrong
        co_return retry();
    });
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(it->counters().rejected == 0u);
    BOOST_TEST(it->counters().acked == 1u);
}

BOOST_AUTO_TEST_CASE(a_handler_that_runs_for_too_long_is_cancelled_and_its_message_tried_again)
{
    options.handler_timeout = 45s;
    send(1);
    consume([this](delivery& d) -> asio::awaitable<outcome> {
        auto const again = d.receive_count() > 1;
        if (!again) co_await pause(1h);
        if (!again) co_await pause(1h);
        co_return ack();
    });
    auto const t0 = time.now();
    BOOST_TEST(until(5min, [this] { return empty(); }));
    BOOST_TEST(time.now() - t0 <= 47s);
    BOOST_TEST(log_lines("handler_timeout").size() == 1u);
    BOOST_TEST(it->counters().retried == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
