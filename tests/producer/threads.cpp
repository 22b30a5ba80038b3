#include <quern/producer/producer.hpp>

#include "support/four_threads.hpp"
#include "support/live_broker.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <future>
#include <optional>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

using answer = result<sqs::send_message_response>;

/// A producer with a client of its own, real sockets, a context that four threads run.
struct post_office {
    live_broker broker;
    std::string url;
    std::atomic<int> named{0};
    std::atomic<std::size_t> confirmed{0}, cancelled{0};
    four_threads threads;
    std::optional<producer> it;

    explicit post_office(std::string const& name) : url(broker.create(name)) { it.emplace(threads.io, url); }

    sqs::send_message_entry letter(int thread)
    {
        sqs::send_message_entry out("letter " + std::to_string(named++));
        if (url.ends_with(".fifo")) out.group_id = "thread-" + std::to_string(thread);
        return out;
    }

    std::future<answer> send(int thread)
    {
        return asio::co_spawn(threads.pool, it->send(letter(thread)), asio::use_future);
    }

    /// Cancelled on the strand where it waits, at once.
    void send_and_cancel(int thread)
    {
        struct attempt {
            asio::cancellation_signal cancel;
            std::promise<bool> confirmed;
        };
        auto const one = std::make_shared<attempt>();
        auto const strand = asio::make_strand(threads.pool);
        asio::co_spawn(strand, it->send(letter(thread)),
            asio::bind_cancellation_slot(one->cancel.slot(),
                [one](std::exception_ptr, answer const& how) { one->confirmed.set_value(how.has_value()); }));
        asio::post(strand, [one] { one->cancel.emit(asio::cancellation_type::terminal); });
        ++(one->confirmed.get_future().get() ? confirmed : cancelled);
    }

    void everything_at_once()
    {
        {
            callers all([this](int thread) {
                std::vector<std::future<answer>> several;
                for (int i = 0; i < 12; ++i)
                    several.push_back(send(thread));
                send_and_cancel(thread);
                asio::co_spawn(threads.io, it->flush(), asio::use_future).get();
                for (auto& each : several)
                    confirmed += each.get().has_value();
            });
            wait_until([&] { return confirmed >= 2'000; });
        }
        auto first = asio::co_spawn(threads.pool, it->close(10s), asio::use_future);
        auto second = asio::co_spawn(threads.io, it->close(10s), asio::use_future);
        BOOST_TEST(first.get() + second.get() == 0u);
        auto const late = send(0).get();
        BOOST_REQUIRE(late.has_error());
        BOOST_TEST(late.error().code == errc::stopped);
        auto const there = broker.depth(url);
        BOOST_TEST(there >= confirmed);
        BOOST_TEST(there <= confirmed + cancelled);
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(producing_on_many_threads)

BOOST_AUTO_TEST_CASE(senders_on_other_threads_go_on_on_their_own_executor)
{
    live_broker broker;
    auto const url = broker.create("letters");
    asio::io_context io;
    auto work = asio::make_work_guard(io);
    producer it(io, url);
    std::thread service([&] { io.run(); });

    asio::thread_pool pool(3);
    auto const sender = [&](int name) -> asio::awaitable<int> {
        int wrong = 0;
        for (int i = 0; i < 50; ++i) {
            sqs::send_message_entry entry(std::to_string(name) + ' ' + std::to_string(i));
            auto const how = co_await it.send(std::move(entry));
            wrong += !how || std::this_thread::get_id() == service.get_id();
        }
        co_return wrong;
    };
    std::vector<std::future<int>> all;
    for (int name = 0; name < 20; ++name)
        all.push_back(
            asio::co_spawn(asio::make_strand(pool), sender(name), asio::use_future)); // coroutine-ok: get() waits
    for (auto& each : all)
        BOOST_TEST(each.get() == 0);
    work.reset();
    service.join();
    BOOST_TEST(broker.depth(url) == 1'000u);
}

BOOST_AUTO_TEST_CASE(everything_at_once)
{
    post_office letters("letters");
    letters.everything_at_once();
}

BOOST_AUTO_TEST_CASE(everything_at_once_to_a_fifo_queue)
{
    post_office letters("letters.fifo");
    letters.everything_at_once();
}

BOOST_AUTO_TEST_CASE(destroyed_on_another_thread_at_any_moment_it_answers_every_sender)
{
    post_office letters("letters");
    for (std::size_t round = 0; round < 24; ++round) {
        letters.it.emplace(letters.threads.io, letters.url);
        std::vector<std::future<answer>> all;
        for (int i = 0; i < 100; ++i)
            all.push_back(letters.send(i));
        for (std::size_t i = 0; i < 25 * (round % 4); ++i)
            letters.confirmed += all[i].get().has_value();
        std::thread([&] { letters.it.reset(); }).join();
        for (auto& each : all) {
            if (!each.valid()) continue;
            auto const how = each.get();
            letters.confirmed += how.has_value();
            if (!how) BOOST_TEST(how.error().code == errc::stopped);
        }
    }
    BOOST_TEST(letters.broker.depth(letters.url) == letters.confirmed);
}

BOOST_AUTO_TEST_SUITE_END()
