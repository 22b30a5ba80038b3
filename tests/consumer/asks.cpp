// co_await d.ack() and d.extend().

#include "consumer/mill.hpp"

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

std::optional<failure> no_answer()
{
    return failure(errc::timed_out, "no answer", true);
}

/// Does something with the first delivery of a message, and acknowledges every other.
template <class F>
auto at_first(F act)
{
    return [act](delivery& d) -> asio::awaitable<outcome> {
        auto const first = d.receive_count() == 1;
        if (first) co_await act(d);
        co_return ack();
    };
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(asks, mill)

BOOST_AUTO_TEST_CASE(an_awaited_ack_is_confirmed_while_the_handler_goes_on)
{
    send(3);
    int confirmed = 0;
    consume([&](delivery& d) -> asio::awaitable<outcome> {
        auto const said = co_await d.ack();
        BOOST_TEST(said.has_value());
        ++confirmed;
        co_await pause(1h);
        throw std::runtime_error("too late");
    });
    BOOST_TEST(until(1s, [&] { return confirmed == 3; }));
    BOOST_TEST(empty());
    BOOST_TEST(running == 3u);
    BOOST_TEST(it->in_flight() == 3u);
    BOOST_TEST(it->counters().acked == 3u);
    BOOST_TEST(until(61min, [this] { return it->in_flight() == 0; }));
    BOOST_TEST(api.deletes == 1);
    BOOST_TEST(api.changes == 0); // what is deleted has no lease
    BOOST_TEST(it->counters().retried + it->counters().lost == 0u);
    BOOST_TEST(it->counters().acked == 3u);
}

BOOST_AUTO_TEST_CASE(a_delete_that_is_refused_is_tried_again_before_the_handler_hears_of_it)
{
    send(1);
    api.on_delete = [this] { return api.deletes < 5 ? no_answer() : std::nullopt; };
    bool confirmed = false;
    consume([&](delivery& d) -> asio::awaitable<outcome> {
        auto const said = co_await d.ack();
        confirmed = said.has_value();
        co_return ack();
    });
    BOOST_TEST(until(20s, [&] { return empty() && it->in_flight() == 0; }));
    BOOST_TEST(confirmed);
    BOOST_TEST(api.deletes == 5);
    BOOST_TEST(it->counters().acked == 1u);
}

BOOST_AUTO_TEST_CASE(a_handler_learns_that_its_lease_was_lost_before_the_delete_was_confirmed)
{
    send(1);
    options.limits.max_in_flight = 1;
    api.on_delete = api.on_change = no_answer;
    std::optional<errc> said;
    auto worked = 0s;
    consume(at_first([&](delivery& d) -> asio::awaitable<void> {
        auto const got = co_await d.ack();
        BOOST_REQUIRE(got.has_error());
        said = static_cast<errc>(got.error().code.value());
        auto const since = time.now();
        co_await pause(10s); // cancelled
        worked = std::chrono::floor<std::chrono::seconds>(time.now() - since);
    }));
    BOOST_TEST(until(1min, [&] { return said.has_value(); }));
    BOOST_TEST(said == errc::receipt_expired);
    api.on_delete = api.on_change = [] { return std::optional<failure>(); };
    BOOST_TEST(until(2min, [this] { return empty() && it->in_flight() == 0; }));
    BOOST_TEST(worked == 0s);
    BOOST_TEST(runs.at("m0") == 2);
    BOOST_TEST(it->counters().lost == 1u);
}

// Where the thread had been blocked beyond the end of a lease, an ack was still taken.
BOOST_AUTO_TEST_CASE(an_ack_that_is_asked_for_when_the_lease_is_over_comes_too_late)
{
    send(1);
    api.on_change = no_answer;
    std::optional<errc> said;
    auto const alarm = time.make_timer(io.get_executor());
    consume(at_first([&](delivery& d) -> asio::awaitable<void> {
        auto const over = d.lease_deadline() + 1s;
        asio::co_spawn(io, alarm->wait_until(over), [](std::exception_ptr, bool) {});
        io.poll_one();
        while (time.now() < over) // nothing else gets its turn
            time.fire_next(over);
        d.ack([&](result<void> const& got) {
            if (!got) said = static_cast<errc>(got.error().code.value());
        });
        api.on_change = [] { return std::optional<failure>(); };
        co_return;
    }));
    BOOST_TEST(until(2min, [this] { return empty() && it->in_flight() == 0; }));
    BOOST_TEST(said == errc::receipt_expired);
    BOOST_TEST(runs.at("m0") == 2);
    BOOST_TEST(it->counters().lost == 1u);
}

// The first delete hangs on the wire beyond the handler's end: nothing may be deleted twice, or given back.
BOOST_AUTO_TEST_CASE(a_handler_that_does_not_wait_for_its_ack_is_settled_by_it)
{
    send(1);
    consume([this](delivery& d) -> asio::awaitable<outcome> {
        asio::co_spawn(io, d.ack(), [](std::exception_ptr, auto const&) {});
        co_await pause(1ms);
        throw std::runtime_error("after all");
    });
    BOOST_TEST(until(1s, [this] { return empty() && it->in_flight() == 0; }));
    BOOST_TEST(api.deletes == 1);
    BOOST_TEST(it->counters().acked == 1u);
    BOOST_TEST(it->counters().retried == 0u);
}

// The extension of its lease is refused because the delete was first: that says nothing against the delete.
BOOST_AUTO_TEST_CASE(an_extension_that_comes_after_the_delete_does_not_speak_for_it)
{
    send(1);
    api.before_deleted = [this]() -> asio::awaitable<void> { co_await pause(1s); };
    std::optional<bool> confirmed;
    consume([&](delivery& d) -> asio::awaitable<outcome> {
        co_await pause(19'990ms);
        auto const said = co_await d.ack();
        confirmed = said.has_value();
        co_return ack();
    });
    BOOST_TEST(until(25s, [&] { return confirmed.has_value(); }));
    BOOST_TEST(api.changes == 1);
    BOOST_TEST(confirmed.value());
    BOOST_TEST(it->counters().lost == 0u);
}

// What its handler says about its dependency counts although it comes too late for the message.
BOOST_AUTO_TEST_CASE(handlers_that_acknowledge_first_do_not_hide_an_outage)
{
    options.limits.max_in_flight = 10;
    send(300);
    consume([this](delivery& d) -> asio::awaitable<outcome> {
        auto const said = co_await d.ack();
        BOOST_TEST(said.has_value());
        co_await pause(100ms);
        co_return unavailable();
    });
    time.run_for(io, 3s);
    BOOST_TEST(runs.size() < 200u); // suspected after a second
}

namespace {

/// Brings the first message that was received a second time, along with whatever comes next.
struct copying : mill {
    std::optional<sqs::message> copy;
    std::shared_ptr<std::byte[]> alive;
    bool injected = false;

    copying()
    {
        api.on_received = [this](sqs::receive_message_response& got) {
            if (got.messages.empty()) return;
            if (!copy) {
                copy = got.messages[0];
                copy->system_attributes[0].value = copy->system_attributes[1].value = "2";
                alive = got.storage;
            } else if (!std::exchange(injected, true)) {
                got.messages.push_back(*copy);
            }
        };
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(a_copy_that_cannot_be_deleted_gives_its_place_back, copying)
{
    send(1);
    consume([this](delivery& d) -> asio::awaitable<outcome> {
        auto const said = co_await d.ack();
        BOOST_TEST(said.has_value());
        co_await pause(2min);
        co_return ack();
    });
    BOOST_TEST(until(1s, [this] { return empty(); }));
    api.on_delete = no_answer;
    send_now(1);
    BOOST_TEST(until(2s, [this] { return it->counters().adopted == 1; }));
    time.run_for(io, 1min);
    api.on_delete = [] { return std::optional<failure>(); };
    BOOST_TEST(until(3min, [this] { return it->in_flight() == 0; }));
}

BOOST_FIXTURE_TEST_CASE(a_copy_received_after_the_ack_is_deleted_as_well, copying)
{
    send(2);
    consume([this](delivery& d) -> asio::awaitable<outcome> {
        auto const said = co_await d.ack();
        BOOST_TEST(said.has_value());
        co_await pause(1min);
        co_return ack();
    });
    BOOST_TEST(until(1s, [this] { return empty(); }));
    send_now(1); // brings the copy
    BOOST_TEST(until(2s, [this] { return it->counters().adopted == 1; }));
    time.run_for(io, 1s);
    auto const deletes = api.deletes;
    BOOST_TEST(deletes >= 2);
    BOOST_TEST(until(2min, [this] { return it->in_flight() == 0; }));
    BOOST_TEST(api.deletes == deletes);
    for (auto const& [body, count] : runs)
        BOOST_TEST(count == 1, body);
    BOOST_TEST(it->counters().acked == 3u);
}

BOOST_AUTO_TEST_CASE(an_extension_lasts_as_long_as_was_asked)
{
    send(1);
    bool ended = false;
    consume([&](delivery& d) -> asio::awaitable<outcome> {
        auto const said = co_await d.extend(10min);
        BOOST_TEST(said.has_value());
        BOOST_TEST(d.remaining() == 10min);
        api.on_change = no_answer;
        co_await pause(9min);
        ended = true;
        co_return ack();
    });
    BOOST_TEST(until(10min, [this] { return empty(); }));
    BOOST_TEST(ended);
    BOOST_TEST(it->counters().extended == 1u);
}

// The conversion overflowed, and what had overflowed was granted without a word to SQS.
BOOST_AUTO_TEST_CASE(an_extension_of_any_length_is_cut_to_what_sqs_allows)
{
    send(1);
    consume([](delivery& d) -> asio::awaitable<outcome> {
        auto const none = co_await d.extend(std::chrono::seconds::min());
        BOOST_TEST(none.has_value());
        auto const all = co_await d.extend(std::chrono::seconds::max());
        BOOST_TEST(all.has_value());
        BOOST_TEST(d.remaining() > 11h);
        co_return ack();
    });
    BOOST_TEST(until(1s, [this] { return empty(); }));
    BOOST_TEST(it->counters().extended == 1u);
}

BOOST_AUTO_TEST_CASE(an_extension_that_is_not_needed_costs_no_request)
{
    send(1);
    consume([](delivery& d) -> asio::awaitable<outcome> {
        auto const said = co_await d.extend(20s);
        BOOST_TEST(said.has_value());
        co_return ack();
    });
    BOOST_TEST(until(1s, [this] { return empty(); }));
    BOOST_TEST(api.changes == 0);
}

// The automatic extension is shorter, and on the wire when the handler asks for more; or the other way round.
BOOST_AUTO_TEST_CASE(two_extensions_never_overtake_each_other)
{
    send(1);
    int on_the_wire = 0, most_on_the_wire = 0;
    api.before_answer = [&]() -> asio::awaitable<void> {
        most_on_the_wire = std::max(most_on_the_wire, ++on_the_wire);
        co_await pause(2s);
        --on_the_wire;
    };
    consume([this](delivery& d) -> asio::awaitable<outcome> {
        auto const asks_after = d.body() == "m0" ? 21'000ms : 19'950ms;
        co_await pause(asks_after);
        auto const said = co_await d.extend(10min);
        BOOST_TEST(said.has_value());
        BOOST_TEST(d.remaining() >= 9min);
        co_return ack();
    });
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(it->counters().extended == 2u);
    send_now(1);
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(it->counters().extended == 3u);
    BOOST_TEST(most_on_the_wire == 1);
}

BOOST_AUTO_TEST_CASE(whoever_waits_when_the_drain_ends_is_told)
{
    send(1);
    api.on_delete = no_answer;
    std::optional<errc> said;
    consume([&](delivery& d) -> asio::awaitable<outcome> {
        auto const got = co_await d.ack();
        if (got.has_error()) said = static_cast<errc>(got.error().code.value());
        co_return ack();
    });
    BOOST_TEST(until(1s, [this] { return running == 1; }));
    auto const end = drained(5s);
    BOOST_TEST(end.running == 1u);
    BOOST_TEST(until(1s, [&] { return said.has_value(); }));
    BOOST_TEST(said == errc::stopped);
}

BOOST_AUTO_TEST_CASE(without_a_consumer_both_succeed)
{
    sqs::message m;
    m.body = "rolls";
    delivery d(m, nullptr, time);
    int good = 0;
    auto both = [&]() -> asio::awaitable<void> {
        auto const first = co_await d.ack();
        auto const second = co_await d.extend(1h);
        good = first.has_value() + second.has_value();
    };
    asio::co_spawn(io, both, [](std::exception_ptr e) { BOOST_TEST(!e); });
    BOOST_TEST(until(1s, [&] { return good == 2; }));
}

BOOST_AUTO_TEST_CASE(the_next_of_a_group_waits_for_the_end_of_a_handler_that_has_acknowledged)
{
    sqs::create_queue_request wanted("ledger.fifo");
    wanted.attributes = {{"FifoQueue", "true"}, {"ContentBasedDeduplication", "true"}};
    url = engine.create_queue(wanted, time.wall()).value().queue_url;
    for (auto const* body : {"1", "2"}) {
        sqs::send_message_request request(url, body);
        request.group_id = "a";
        engine.send_message(std::move(request), time.wall()).value();
    }
    consume([this](delivery& d) -> asio::awaitable<outcome> {
        auto const said = co_await d.ack();
        BOOST_TEST(said.has_value());
        co_await pause(1min);
        co_return ack();
    });
    BOOST_TEST(until(3min, [this] { return empty() && it->in_flight() == 0; }));
    BOOST_TEST(most_running == 1u);
    BOOST_TEST(runs.size() == 2u);
}

BOOST_AUTO_TEST_SUITE_END()
