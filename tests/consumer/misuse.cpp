// What cannot work is refused by the call that asks for it.

#include "consumer/mill.hpp"

#include <quern/sqs/detail/lane_ledger.hpp>

#include <csignal>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

struct misused : mill {
    /// The complaint about it; empty when it is accepted.
    template <class Use>
    static std::string refused(Use use)
    {
        try {
            use();
        } catch (boost::system::system_error const& e) {
            BOOST_TEST(e.code() == make_error_code(errc::invalid_option));
            return e.what();
        }
        return {};
    }

    template <class F>
    bool is_refused_as_empty(F handle)
    {
        auto const why = refused([&] { consumer(io.get_executor(), api, url, std::move(handle), options); });
        return why.find("handler") != why.npos;
    }

    static bool is_caught(int signal)
    {
        struct sigaction now = {};
        ::sigaction(signal, nullptr, &now);
        return now.sa_handler != SIG_DFL;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(misuse, misused)

// Each run of it threw bad_function_call: every message went to the dead-letter queue.
BOOST_AUTO_TEST_CASE(a_handler_that_is_no_function)
{
    BOOST_TEST(is_refused_as_empty(handler()));
    BOOST_TEST(is_refused_as_empty(batch_handler()));
    BOOST_TEST(is_refused_as_empty(std::function<void(delivery&)>()));
    BOOST_TEST(is_refused_as_empty(std::function<outcome(delivery&)>()));
    BOOST_TEST(is_refused_as_empty(std::function<asio::awaitable<void>(delivery&)>()));
    BOOST_TEST(is_refused_as_empty(std::function<asio::awaitable<void>(deliveries)>()));
    BOOST_TEST(is_refused_as_empty(static_cast<void (*)(delivery&)>(nullptr)));
    BOOST_TEST(!is_refused_as_empty(fast));
    BOOST_TEST(!is_refused_as_empty(handler(fast)));
    BOOST_TEST(!is_refused_as_empty([](delivery&) {}));
}

// A rejected message came back as a new one, for ever.
BOOST_AUTO_TEST_CASE(a_poison_queue_that_is_the_queue_itself)
{
    options.poison_queue = url;
    auto const why = refused([&] { consumer(io.get_executor(), api, url, fast, options); });
    BOOST_TEST(why.find("poison_queue") != why.npos);
}

// Each receive was refused, for ever, and without a log nobody knew why.
BOOST_AUTO_TEST_CASE(what_is_neither_url_nor_name_nor_arn_of_a_queue)
{
    for (std::string const name : {"the orders", "", "arn:aws:sns:eu-west-1:123456789012:orders"}) {
        auto const why = refused([&] { consumer(io.get_executor(), api, name, fast, options); });
        BOOST_TEST(why.find("queue_url is \"" + name + "\"") != why.npos);
        BOOST_TEST(why.find("ARN as arn:") != why.npos);
    }
    options.poison_queue = "my poison";
    auto const why = refused([&] { consumer(io.get_executor(), api, url, fast, options); });
    BOOST_TEST(why.find("poison_queue is \"my poison\"") != why.npos);
}

// It was thrown out of io_context::run(), after the other signals had been taken.
BOOST_AUTO_TEST_CASE(a_signal_that_cannot_be_caught)
{
    consume(fast);
    for (int const s : {SIGKILL, SIGSTOP, 0, -1, 100'000}) {
        auto const why = refused([&] { it->drain_on({SIGUSR1, s}); });
        BOOST_TEST(why.find("drain_on: signal " + std::to_string(s) + ' ') != why.npos);
    }
    time.run_for(io, 0s);
    BOOST_TEST(!is_caught(SIGUSR1));
}

// The second call gave the first one's signals back: they killed the process.
BOOST_AUTO_TEST_CASE(signals_named_one_by_one_all_drain_each_within_its_limit)
{
    for (auto const& [signal, limit] : {std::pair(SIGUSR1, 10s), std::pair(SIGUSR2, 100s)}) {
        mill m;
        m.options.wait_time = 1s;
        m.send(1);
        m.consume([&m](delivery&) -> asio::awaitable<outcome> {
            co_await m.pause(1h);
            co_return ack();
        });
        m.it->drain_on({SIGUSR1, SIGUSR2}, 1s);
        m.it->drain_on({SIGUSR1}, 10s);
        m.it->drain_on({SIGUSR2}, 100s);
        m.time.run_for(m.io, 1s);
        BOOST_REQUIRE((is_caught(SIGUSR1) && is_caught(SIGUSR2)));
        asio::co_spawn(m.io, m.it->drained(), [&m](std::exception_ptr e, drain_report r) {
            BOOST_TEST(!e);
            m.report = r;
        });
        ::raise(signal);
        BOOST_TEST(m.until(5min, [&m] { return m.report.has_value(); }));
        BOOST_TEST(m.report->took.count() == 900 * limit.count());
    }
}

// Two consumers shared a client that had connections for one: their polls waited for each other.
BOOST_AUTO_TEST_CASE(a_client_with_too_few_connections_left)
{
    struct client : stub_api {
        std::shared_ptr<sqs::detail::lane_ledger> lanes =
            std::make_shared<sqs::detail::lane_ledger>(sqs::lane_places{19, 70});
        sqs::lane_claim claim(sqs::lane_places wanted) override { return lanes->claim(wanted); }
    } shared;
    auto const refused_beside = [&](std::size_t polls, std::size_t settle_calls) {
        options.limits.max_polls = 16;
        options.settle.max_calls = 32;
        consumer const first(io.get_executor(), shared, url, fast, options);
        options.limits.max_polls = polls;
        options.settle.max_calls = settle_calls;
        return refused([&] { consumer(io.get_executor(), shared, url, fast, options); });
    };
    auto const polls = refused_beside(4, 32);
    BOOST_TEST(polls.find("max_polls 4 needs 4 data connections of the client, 3 are free") != polls.npos);
    time.run_for(io, 0s); // the first one has ended
    auto const calls = refused_beside(3, 39);
    BOOST_TEST(
        calls.find("settle.max_calls 39 needs 39 control connections of the client, 38 are free") != calls.npos);
    time.run_for(io, 0s);
    BOOST_TEST(refused_beside(3, 38) == "");
    time.run_for(io, 0s);
    BOOST_TEST(shared.lanes->free().data == 19u);
}

BOOST_AUTO_TEST_SUITE_END()
