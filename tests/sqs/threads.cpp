#include <quern/sqs/client.hpp>

#include "support/four_threads.hpp"
#include "support/live_broker.hpp"

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

BOOST_AUTO_TEST_CASE(four_threads_share_a_client_through_its_strand)
{
    live_broker broker;
    auto const url = broker.create("letters");
    four_threads threads;
    auto const strand = asio::make_strand(threads.io);
    std::optional<sqs::client> sqs(std::in_place, strand);

    std::atomic<std::size_t> sent{0}, deleted{0}, stopped{0};
    {
        callers all([&](int) {
            deleted += static_cast<std::size_t>(
                asio::co_spawn(strand, send_receive_delete(*sqs, url), asio::use_future).get());
            ++sent;
        });
        wait_until([&] { return sent >= 200; });
    }
    BOOST_TEST(deleted + broker.depth(url) == sent);

    // Cancelled on the strand, from wherever.
    auto const idle = broker.create("idle");
    for (int round = 0; round < 20; ++round) {
        struct poll {
            asio::cancellation_signal cancel;
            std::promise<errc> over;
        };
        auto const one = std::make_shared<poll>();
        sqs::receive_message_request ask(idle);
        ask.wait_time = 20s;
        using got = result<sqs::receive_message_response>;
        asio::co_spawn(strand, sqs->receive_message(std::move(ask)),
            asio::bind_cancellation_slot(one->cancel.slot(), [one](std::exception_ptr, got const& answer) {
                one->over.set_value(static_cast<errc>(answer.error().code.value()));
            }));
        if (round % 2 == 0) wait_until([&] { return broker.parked_polls() > stopped; });
        asio::post(strand, [one] { one->cancel.emit(asio::cancellation_type::terminal); });
        BOOST_TEST((one->over.get_future().get() == errc::stopped));
        if (round % 2 == 0) ++stopped; // the broker goes on with it, as SQS does
    }

    auto last = asio::co_spawn(
        strand,
        [&]() -> asio::awaitable<void> {
            sqs.reset(); // on the strand, too
            co_return;
        },
        asio::use_future);
    last.get();
}
