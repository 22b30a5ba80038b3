// Answers whose messages cannot be settled: the service has hidden them, and nobody can say what becomes of them.

#include "consumer/mill.hpp"

#include <string_view>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

struct stripped : mill {
    /// As the decoder has a message with a member that is missing.
    static void strip(
        sqs::receive_message_response& got, std::string_view sqs::message::*member, std::size_t kept = 0)
    {
        for (auto at = kept; at < got.messages.size(); ++at) {
            auto known = got.messages[at];
            known.*member = {};
            got.damaged.push_back({at, std::move(known), failure(errc::bad_reply, "a member is missing")});
        }
        got.messages.resize(std::min(kept, got.messages.size()));
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(unusable_answers)

// Each was followed by the next receive at once: 8,000 a second.
BOOST_AUTO_TEST_CASE(messages_without_an_id_or_a_receipt_handle_are_not_received_in_a_hot_loop)
{
    for (auto const member : {&sqs::message::id, &sqs::message::receipt_handle}) {
        stripped m;
        m.send(2'000); // 200 full answers
        m.api.before_received = [&m](auto&) { return m.pause(2ms); };
        m.api.on_received = [member](auto& got) { stripped::strip(got, member); };
        m.consume(fast);
        m.time.run_for(m.io, 1min);
        auto const counters = m.it->counters();
        BOOST_TEST(m.api.receives > 5); // it has not given up
        BOOST_TEST(m.api.receives < 25);
        BOOST_TEST(counters.damaged == counters.received);
        BOOST_TEST(counters.damaged == 10 * counters.polls);
        BOOST_TEST(m.runs.empty());
        BOOST_TEST(m.it->in_flight() == 0u);
        BOOST_TEST(m.log_lines("damaged message: ") != 0);

        m.api.on_received = [](auto&) {};
        BOOST_TEST(m.until(2min, [&m] { return m.empty(); }));
        BOOST_TEST(m.runs.size() == 2'000u);
    }
}

BOOST_AUTO_TEST_CASE(an_answer_that_brings_one_message_that_can_be_settled_is_followed_by_the_next_at_once)
{
    stripped m;
    m.send(2'000);
    m.api.before_received = [&m](auto&) { return m.pause(2ms); };
    m.api.on_received = [](auto& got) { stripped::strip(got, &sqs::message::receipt_handle, 1); };
    m.consume(fast);
    m.time.run_for(m.io, 5s);
    BOOST_TEST(m.it->counters().acked == 200u);
    BOOST_TEST(m.it->counters().damaged == 1'800u);
}

BOOST_AUTO_TEST_SUITE_END()
