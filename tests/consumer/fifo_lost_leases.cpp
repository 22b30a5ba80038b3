// A head whose lease is refused while its handler ends: the two may meet at any point between two turns.

#include "consumer/mill.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;

namespace {

struct refused_head : mill {
    std::vector<std::string> begun;
    std::string handle;                                                // of the head
    asio::steady_timer end{io, asio::steady_timer::time_point::max()}; // of the handler

    refused_head()
    {
        sqs::create_queue_request wanted("ledger.fifo");
        wanted.attributes["FifoQueue"] = "true";
        url = engine.create_queue(wanted, time.wall()).value().queue_url;
        for (auto const* body : {"1", "2"}) {
            sqs::send_message_request request(url, body);
            request.group_id = "a";
            request.deduplication_id = body;
            engine.send_message(std::move(request), time.wall()).value();
        }
        options.visibility_timeout = 9s;
        options.limits.max_polls = 1;
        api.on_received = [this](sqs::receive_message_response& got) { handle = got.messages.at(0).receipt_handle; };
        api.on_change = [this]() -> std::optional<failure> { // somebody else has handled the head
            if (handle.empty()) return {};
            sqs::delete_message_request gone(url, std::exchange(handle, {}));
            engine.delete_message(gone, time.wall()).value();
            return {};
        };
        api.on_receive = [this] {
            return api.receives == 1 ? std::nullopt : std::optional(failure(errc::service_error, "refused", true));
        };
    }

    /// The handler of the head fails, and so many steps of the loop later its extension is refused.
    void fail_before_refusal(int steps)
    {
        api.before_answer = [this, steps]() -> asio::awaitable<void> {
            end.cancel();
            for (int i = 0; i < steps; ++i)
                co_await asio::post(asio::use_awaitable);
        };
        consume([this](delivery& d) -> asio::awaitable<outcome> {
            begun.emplace_back(d.body());
            boost::system::error_code code;
            co_await end.async_wait(asio::redirect_error(asio::use_awaitable, code));
            throw std::runtime_error("not yet");
        });
        time.run_for(io, 20s);
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(fifo_lost_leases)

BOOST_AUTO_TEST_CASE(nobody_overtakes_a_head_that_fails_while_its_lease_is_refused)
{
    for (int steps = 0; steps < 8; ++steps) {
        refused_head day;
        day.fail_before_refusal(steps);
        BOOST_TEST(day.begun == std::vector<std::string>{"1"}, boost::test_tools::per_element());
        BOOST_TEST(day.it->counters().lost != 0u);
        BOOST_TEST(day.it->in_flight() == 0u);
    }
}

BOOST_AUTO_TEST_SUITE_END()
