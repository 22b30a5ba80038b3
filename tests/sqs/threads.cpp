#include <quern/sqs/client.hpp>

#include "support/four_threads.hpp"
#include "support/live_broker.hpp"
#include "support/run.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/strand.hpp>
#include <boost/test/unit_test.hpp>

#include <optional>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

asio::awaitable<int> send_receive_delete(sqs::client& sqs, std::string url)
{
    sqs::send_message_request letter(url, "hello");
    auto const sent = co_await sqs.send_message(std::move(letter));
    if (!sent) throw std::runtime_error(describe(sent.error()));
    sqs::receive_message_request ask(url);
    ask.max_messages = 10;
    ask.wait_time = 0s;
    auto const got = co_await sqs.receive_message(std::move(ask));
    if (!got) throw std::runtime_error(describe(got.error()));
    int deleted = 0;
    for (auto const& message : got->messages) {
        sqs::delete_message_request done(url, std::string(message.receipt_handle));
        auto const said = co_await sqs.delete_message(std::move(done));
        deleted += said.has_value();
    }
    co_return deleted;
}

} // namespace

BOOST_AUTO_TEST_SUITE(a_shared_client)

BOOST_AUTO_TEST_CASE(is_called_from_any_thread_and_answers_on_the_callers_executor)
{
    live_broker broker;
    auto const url = broker.create("letters");
    four_threads threads;
    sqs::client sqs(threads.io.get_executor());

    std::atomic<std::size_t> sent{0}, deleted{0}, requests{0};
    callers all([&](int name) {
        auto work = send_receive_delete(sqs, url);
        auto there = name % 2 == 0
            ? asio::co_spawn(asio::make_strand(threads.pool), std::move(work), asio::use_future)
            : asio::co_spawn(asio::make_strand(threads.io), std::move(work), asio::use_future);
        deleted += static_cast<std::size_t>(there.get());
        ++sent;
        requests = sqs.counters().requests;
    });
    wait_until([&] { return sent >= 200; });
    all.stop();
    BOOST_TEST(deleted + broker.depth(url) == sent);
    BOOST_TEST(requests >= 400u);
    BOOST_TEST(sqs.clock_offset().count() == 0);
}

BOOST_AUTO_TEST_CASE(goes_nowhere_for_a_caller_on_its_own_strand)
{
    live_broker broker;
    auto const url = broker.create("letters");
    four_threads threads;
    sqs::client sqs(threads.io.get_executor());
    sqs::client neighbour(sqs.get_executor());
    BOOST_TEST((neighbour.get_executor() == sqs.get_executor()));
    auto const home = sqs.get_executor();
    BOOST_TEST(asio::co_spawn(home, send_receive_delete(neighbour, url), asio::use_future).get() == 1);
}

// Cancelled on the caller's strand, whatever that is.
BOOST_AUTO_TEST_CASE(ends_an_operation_that_its_caller_cancels)
{
    live_broker broker;
    auto const idle = broker.create("idle");
    four_threads threads;
    sqs::client sqs(threads.io.get_executor());
    for (int round = 0; round < 40; ++round) {
        wait_until([&] { return broker.parked_polls() == 0; }); // the broker has seen the last one hang up
        struct poll {
            asio::cancellation_signal cancel;
            std::promise<errc> over;
        };
        auto const one = std::make_shared<poll>();
        sqs::receive_message_request ask(idle);
        ask.wait_time = 20s;
        using got = result<sqs::receive_message_response>;
        asio::any_io_executor const strand = round % 4 < 2
            ? sqs.get_executor()
            : asio::any_io_executor(asio::make_strand(threads.pool.get_executor()));
        asio::co_spawn(strand, sqs.receive_message(std::move(ask)),
            asio::bind_cancellation_slot(one->cancel.slot(), [one](std::exception_ptr thrown, got const& answer) {
                auto const why = thrown ? errc::stopped : static_cast<errc>(answer.error().code.value());
                one->over.set_value(why); // thrown: it had not begun
            }));
        if (round % 2 == 0) wait_until([&] { return broker.parked_polls() == 1; });
        asio::post(strand, [one] { one->cancel.emit(asio::cancellation_type::terminal); });
        BOOST_TEST(one->over.get_future().get() == errc::stopped);
    }
}

BOOST_AUTO_TEST_CASE(ends_what_is_under_way_when_it_is_destroyed_on_whatever_thread)
{
    live_broker broker;
    auto const idle = broker.create("idle");
    four_threads threads;
    for (int round = 0; round < 20; ++round) {
        wait_until([&] { return broker.parked_polls() == 0; });
        std::optional<sqs::client> sqs(std::in_place, threads.io.get_executor());
        std::vector<std::future<result<sqs::receive_message_response>>> polls;
        for (int i = 0; i < 4; ++i) {
            sqs::receive_message_request ask(idle);
            ask.wait_time = 20s;
            auto work = sqs->receive_message(std::move(ask));
            if (i % 2 == 0)
                polls.push_back(asio::co_spawn(threads.pool, std::move(work), asio::use_future));
            else
                polls.push_back(asio::co_spawn(sqs->get_executor(), std::move(work), asio::use_future));
        }
        if (round % 2 == 0) wait_until([&] { return broker.parked_polls() == polls.size(); });
        std::thread([&] { sqs.reset(); }).join();
        for (auto& each : polls)
            BOOST_TEST(each.get().error().code == errc::stopped);
    }
}

/// A poll that is under way or not begun, and a context that ends.
struct ending {
    live_broker broker;
    std::string const idle = broker.create("idle");
    std::optional<asio::io_context> home{std::in_place}, elsewhere{std::in_place};
    std::optional<sqs::client> sqs{std::in_place, home->get_executor()};
    std::optional<errc> said;

    void poll_from(asio::io_context& from)
    {
        sqs::receive_message_request ask(idle);
        ask.wait_time = 20s;
        using got = result<sqs::receive_message_response>;
        asio::co_spawn(from, sqs->receive_message(std::move(ask)),
            [this](std::exception_ptr, got const& answer) { said = static_cast<errc>(answer.error().code.value()); });
        while (broker.parked_polls() == 0) {
            elsewhere->poll();
            home->poll();
        }
    }
};

BOOST_AUTO_TEST_CASE(may_outlive_its_context)
{
    ending it;
    it.poll_from(*it.home);
    it.home.reset();
    BOOST_TEST(!it.said.has_value());
    it.sqs->close();
    BOOST_TEST(it.sqs->counters().requests == 0u);
    it.sqs.reset();
}

BOOST_AUTO_TEST_CASE(ends_with_its_context_for_those_who_wait_elsewhere)
{
    ending it;
    it.poll_from(*it.elsewhere);
    it.home.reset();
    it.elsewhere->restart();
    it.elsewhere->run();
    BOOST_REQUIRE(it.said.has_value());
    BOOST_TEST(*it.said == errc::stopped);

    sqs::list_queues_request late;
    auto const refused = run(*it.elsewhere, it.sqs->list_queues(late));
    BOOST_TEST(refused.error().code == errc::stopped);
}

BOOST_AUTO_TEST_CASE(bears_the_end_of_its_callers_context)
{
    for (bool const client_first : {true, false}) {
        ending it;
        it.poll_from(*it.elsewhere);
        if (client_first) it.sqs.reset();
        it.elsewhere.reset();
        it.sqs.reset();
        it.home->restart();
        it.home->run(); // nothing is left
        BOOST_TEST(!it.said.has_value());
    }
}

BOOST_AUTO_TEST_CASE(bears_the_end_of_its_own_context_at_any_moment)
{
    live_broker broker;
    auto const url = broker.create("letters");
    for (int round = 0; round < 20; ++round) {
        std::optional<four_threads> threads(std::in_place);
        asio::thread_pool callers(3);
        sqs::client sqs(threads->io.get_executor());
        std::atomic<int> ended{0};
        for (int i = 0; i < 12; ++i) {
            sqs::send_message_request letter(url, "hello");
            asio::co_spawn(callers, sqs.send_message(std::move(letter)),
                [&](std::exception_ptr, result<sqs::send_message_response> const&) { ++ended; });
        }
        wait_until([&] { return ended >= round % 12; });
        threads.reset();
        callers.join();
        BOOST_TEST(ended == 12);
    }
}

BOOST_AUTO_TEST_SUITE_END()
