#include "idempotency/once_mill.hpp"

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

BOOST_FIXTURE_TEST_SUITE(a_handler_that_must_not_repeat, once_mill)

BOOST_AUTO_TEST_CASE(runs_once_for_two_messages_with_the_same_key)
{
    std::optional<std::string> seen;
    how.on_duplicate = [&](delivery const&, std::optional<std::string> const& result) { seen = result; };
    put("a");
    work([](delivery&, receipt& r) -> asio::awaitable<outcome> {
        r.result = "{\"charged\":7}";
        co_return ack();
    });
    BOOST_TEST(until(5s, [this] { return empty(); }));
    send_now("a");
    BOOST_TEST(until(40s, [&] { return seen.has_value(); }));
    BOOST_TEST(until(5s, [this] { return empty(); }));
    BOOST_TEST(effects.at("a") == 1);
    BOOST_TEST(seen.value() == "{\"charged\":7}");
    BOOST_TEST(guard->counters().claimed == 1u);
    BOOST_TEST(guard->counters().completed == 1u);
    BOOST_TEST(guard->counters().duplicates == 1u);
    BOOST_TEST(log_lines("idempotency duplicate: ") == 1);
}

// A second order without an id was deleted as a duplicate of the first, and nothing told so.
BOOST_AUTO_TEST_CASE(takes_an_empty_key_for_none_and_runs_each_as_malformed)
{
    int malformed = 0;
    how.key = idempotency::key_source::parse("body:/id").value();
    how.on_missing_key = [&](delivery const&) {
        ++malformed;
        return ack();
    };
    put(R"({"id":"","n":1})");
    put(R"({"id":"","n":2})");
    work();
    BOOST_TEST(until(5s, [this] { return empty(); }));
    BOOST_TEST(malformed == 2);
    BOOST_TEST(guard->counters().duplicates == 0u);
}

BOOST_AUTO_TEST_CASE(keeps_the_result_for_as_long_as_it_is_told_to)
{
    how.life = 60s;
    put("a");
    work();
    BOOST_TEST(until(5s, [this] { return empty(); }));
    time.run_for(io, 59s);
    send_now("a");
    time.run_for(io, 1s);
    BOOST_TEST(effects.at("a") == 1);
    time.run_for(io, 3s);
    send_now("a");
    time.run_for(io, 1s);
    BOOST_TEST(effects.at("a") == 2);
}

BOOST_AUTO_TEST_CASE(gives_the_key_free_when_it_fails_and_runs_again)
{
    put("a");
    int tries = 0;
    work([&](delivery&, receipt&) -> asio::awaitable<outcome> {
        if (++tries == 1) throw std::runtime_error("the first time");
        if (tries == 2) co_return release();
        co_return ack();
    });
    BOOST_TEST(until(5min, [this] { return empty(); }));
    BOOST_TEST(tries == 3);
    BOOST_TEST(effects.at("a") == 1);
    BOOST_TEST(guard->counters().abandoned == 2u);
    BOOST_TEST(guard->counters().waited == 0u);
}

// The claim of a handler that runs for ten minutes follows its lease: whoever dies leaves the key blocked for no
// longer than the message itself.
BOOST_AUTO_TEST_CASE(extends_its_claim_before_each_extension_of_the_lease)
{
    put("a");
    work([this](delivery& d, receipt&) -> asio::awaitable<outcome> {
        for (int i = 0; i < 600; ++i) {
            co_await pause(1s);
            auto const until = rows->find(key_of("a")).value().in_progress_until.value();
            BOOST_TEST(until - time.wall() >= d.remaining() + 1s);
            BOOST_TEST(until - time.wall() <= std::max(35s, std::chrono::seconds(i + 5))); // as long as it has run
            BOOST_TEST(until - time.wall() <= 305s);
        }
        co_return ack();
    });
    BOOST_TEST(until(11min, [this] { return empty(); }));
    BOOST_TEST(effects.at("a") == 1);
    BOOST_TEST(count("extend") == 6);
    BOOST_TEST(api.changes == 6);
}

BOOST_AUTO_TEST_CASE(is_cancelled_and_acknowledges_nothing_when_its_claim_is_lost)
{
    put("a");
    bool is_cancelled = false;
    options.limits.max_in_flight = 1;
    work([&](delivery& d, receipt&) -> asio::awaitable<outcome> {
        if (d.receive_count() > 1) co_return ack();
        rows->forget(key_of("a"));
        claim_for_another_soon();
        struct on_exit {
            bool& is;
            ~on_exit() { is = true; }
        } const noted{is_cancelled};
        co_await rest(10min);
        co_return ack();
    });
    auto const began = time.now();
    BOOST_TEST(until(1min, [&] { return is_cancelled; }));
    BOOST_TEST(time.now() - began <= 32s);
    BOOST_TEST(!empty());
    BOOST_TEST(it->counters().lost == 1u);
    complete_for_another("a");
    BOOST_TEST(until(5min, [this] { return empty(); }));
    BOOST_TEST(!effects.contains("a"));
    BOOST_TEST(guard->counters().duplicates == 1u);
}

BOOST_AUTO_TEST_CASE(waits_for_somebody_else_who_works_on_its_key_and_acknowledges_when_he_has_done_it)
{
    claim_for_another("a", 20s);
    put("a");
    work();
    time.run_for(io, 3s);
    BOOST_TEST(it->in_flight() == 1u);
    complete_for_another("a");
    BOOST_TEST(until(10s, [this] { return empty(); }));
    BOOST_TEST(effects.empty());
    BOOST_TEST(guard->counters().duplicates == 1u);
    BOOST_TEST(guard->counters().released == 0u);
}

BOOST_AUTO_TEST_CASE(takes_the_key_over_when_that_claim_ends)
{
    claim_for_another("a", 20s);
    put("a");
    work();
    BOOST_TEST(until(21s, [this] { return empty(); }));
    BOOST_TEST(effects.at("a") == 1);
    BOOST_TEST(it->counters().received == 1u);
}

BOOST_AUTO_TEST_CASE(gives_its_message_back_for_a_long_claim_and_that_is_no_failure)
{
    claim_for_another("a", 10min);
    put("a");
    work();
    time.run_for(io, 9min);
    BOOST_TEST(it->counters().received == 1u); // it comes when that ends
    BOOST_TEST(guard->counters().released == 1u);
    BOOST_TEST(until(2min, [this] { return empty(); }));
    BOOST_TEST(effects.at("a") == 1);
    BOOST_TEST(explained().find("breaker") == std::string::npos);
}

// The dead-letter queue would take a message that is given back on its last receive, although nobody has failed.
BOOST_AUTO_TEST_CASE(waits_on_its_last_receive_for_as_long_as_it_takes)
{
    auto const dead = allow_receives("1");
    claim_for_another("a", 10min);
    work();
    time.run_for(io, 1s);
    send_now("a");
    BOOST_TEST(until(11min, [this] { return empty(); }));
    BOOST_TEST(effects.at("a") == 1);
    BOOST_TEST(in(dead) == 0);
}

BOOST_AUTO_TEST_CASE(complains_of_a_known_key_with_another_payload)
{
    how.key.what = key_source::kind::body;
    how.key.names = {"/id"};
    how.validation.emplace().what = key_source::kind::whole_body;
    put(R"({"id":1,"sum":5})");
    work();
    BOOST_TEST(until(5s, [this] { return empty(); }));
    send_now(R"({"sum": 5, "id": 1})"); // the same
    send_now(R"({"id":1,"sum":6})");
    time.run_for(io, 10s);
    BOOST_TEST(guard->counters().duplicates == 1u);
    BOOST_TEST(guard->counters().mismatched >= 1u);
    BOOST_TEST(!empty()); // there is no queue for what is rejected
    BOOST_TEST(effects.size() == 1u);
}

// It was tried again, and found the same, until the queue's redrive policy took it, without a reason.
BOOST_AUTO_TEST_CASE(rejects_a_known_key_with_another_payload_at_once)
{
    auto const dead = allow_receives("100");
    how.key.what = key_source::kind::body;
    how.key.names = {"/id"};
    how.validation.emplace().what = key_source::kind::whole_body;
    put(R"({"id":1,"sum":5})");
    work();
    BOOST_TEST(until(5s, [this] { return empty(); }));
    send_now(R"({"id":1,"sum":6})");
    BOOST_TEST(until(5s, [&] { return empty() && in(dead) == 1; }));
    BOOST_TEST(guard->counters().mismatched == 1u);
    BOOST_TEST(it->counters().rejected == 1u);
    BOOST_TEST(effects.size() == 1u);
}

BOOST_AUTO_TEST_CASE(takes_a_message_without_a_key_for_a_malformed_one)
{
    how.key.what = key_source::kind::body;
    how.key.names = {"/id"};
    options.on_malformed = malformed_policy::discard;
    put("{}");
    work();
    BOOST_TEST(until(5s, [this] { return empty(); }));
    BOOST_TEST(effects.empty());
    BOOST_TEST(it->counters().malformed == 1u);
}

BOOST_AUTO_TEST_CASE(gives_its_key_free_when_a_drain_cancels_it)
{
    put("a");
    work([this](delivery&, receipt&) -> asio::awaitable<outcome> {
        co_await rest(1h);
        co_return ack();
    });
    time.run_for(io, 1s);
    BOOST_TEST(rows->size() == 1u);
    drained(10s);
    BOOST_TEST(rows->size() == 0u);
    BOOST_TEST(visible() == 1);
}

BOOST_AUTO_TEST_CASE(is_middleware_around_any_handler)
{
    guard = std::make_shared<once>(store, how);
    int runs_of_plain = 0;
    send(2);
    put("m0");
    consume(chain(guard->around(), [&](delivery&) { ++runs_of_plain; }));
    BOOST_TEST(until(10s, [this] { return empty(); }));
    BOOST_TEST(runs_of_plain == 2);
}

BOOST_AUTO_TEST_CASE(refuses_settings_that_cannot_work)
{
    auto const refuses = [&](auto change) {
        auto options_with = how;
        change(options_with);
        BOOST_CHECK_THROW(once(store, options_with), boost::system::system_error);
    };
    refuses([](once_options& o) { o.prefix.clear(); });
    refuses([](once_options& o) { o.life = 0s; });
    refuses([](once_options& o) { o.key.what = key_source::kind::body; });
    refuses([](once_options& o) { o.key.what = key_source::kind::function; });
    refuses([](once_options& o) { o.waiting.longest = -1s; });
}

BOOST_AUTO_TEST_SUITE_END()
