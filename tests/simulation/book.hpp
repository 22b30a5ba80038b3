#pragma once

#include <quern/sim/detail/earlier_life.hpp>
#include <quern/sim/virtual_clock.hpp>
#include <quern/sim/witness.hpp>

#include <boost/test/unit_test.hpp>

#include <deque>
#include <string>
#include <utility>

namespace quern::test {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::seconds;

inline sim::witness::rules fifo()
{
    sim::witness::rules out;
    out.limits.max_in_flight = 10;
    out.ordered = out.keeps_rejected = true;
    out.lease = 3s;
    return out;
}

/// Processes and messages by number; a receipt handle names process, message and receive. Leases of three seconds.
struct book {
    sim::virtual_clock time;
    boost::asio::io_context io;
    sim::witness books;
    std::deque<std::string> texts; // that messages refer to

    explicit book(sim::witness::rules r = fifo()) : books(time, r)
    {
        for (int n : {1, 2})
            books.sent(n, "g", std::to_string(n));
    }

    void pass(milliseconds d) { time.run_for(io, d); }

    static std::string handle(int process, int number, int receive)
    {
        return std::to_string(process) + '/' + std::to_string(number) + '/' + std::to_string(receive);
    }

    sqs::receive_message_request asked(std::string attempt = "a")
    {
        sqs::receive_message_request out("orders.fifo");
        out.visibility_timeout = 3s;
        out.wait_time = 0s;
        out.attempt_id = std::move(attempt);
        return out;
    }

    sqs::receive_message_response answer(int process, int number, int receive)
    {
        sqs::message m;
        m.receipt_handle = texts.emplace_back(handle(process, number, receive));
        m.id = texts.emplace_back("id-" + std::to_string(number));
        m.body = texts.emplace_back(std::to_string(number));
        m.system_attributes.push_back({"ApproximateReceiveCount", texts.emplace_back(std::to_string(receive))});
        sqs::receive_message_response out;
        out.messages.push_back(std::move(m));
        return out;
    }

    sim::service_observer& service(int process) { return books.service_for(process); }

    void receive(int process, int number, int receive)
    {
        auto const got = answer(process, number, receive);
        service(process).asks(asked());
        service(process).received(asked(), got);
        service(process).delivered(asked(), got, time.now());
    }

    void run(int process, int number, sim::verdict said)
    {
        books.started(process, number);
        books.ended(process, number, said, true);
    }

    static sqs::change_message_visibility_batch_response all_done()
    {
        sqs::change_message_visibility_batch_response out;
        out.successful.push_back({"0"});
        return out;
    }

    /// At the service, whose answer does not arrive yet.
    sqs::change_message_visibility_batch_request change(int process, int number, int receive, seconds timeout)
    {
        auto const h = handle(process, number, receive);
        service(process).names("ChangeMessageVisibilityBatch", h);
        sqs::change_message_visibility_batch_request out("orders.fifo", {{"0", h, timeout}});
        service(process).changed(out, all_done(), time.now());
        return out;
    }

    void confirm(int process, sqs::change_message_visibility_batch_request const& asked, tick sent_at)
    {
        service(process).confirmed(asked, all_done(), sent_at);
    }

    void hide(int process, int number, int receive, seconds timeout)
    {
        confirm(process, change(process, number, receive, timeout), time.now());
    }

    void remove(int process, int number, int receive)
    {
        auto const h = handle(process, number, receive);
        service(process).names("DeleteMessageBatch", h);
        sqs::delete_message_batch_request const request("orders.fifo", {{"0", h}});
        sqs::delete_message_batch_response done;
        done.successful.push_back({"0"});
        service(process).deleted(request, done);
    }

    static sqs::send_message_entry copy(int number)
    {
        sqs::send_message_entry out(std::to_string(number));
        out.id = "0";
        out.attributes = {{"QuernReason", {"String", "it is bad"}},
            {"QuernOriginalId", {"String", "id-" + std::to_string(number)}},
            {"QuernSource", {"String", "orders.fifo"}}, {"QuernReceiveCount", {"Number", "1"}}};
        out.system_attributes = sim::detail::trace_header();
        return out;
    }

    void hand_off(int process, int number, int receive = 1)
    {
        auto one = copy(number);
        one.attributes["QuernReceiveCount"].value = std::to_string(receive);
        hand_off(process, std::move(one));
    }

    void refuse_copy(int process, int number)
    {
        service(process).copies_refused(sqs::send_message_batch_request("poison.fifo", {copy(number)}));
    }

    void hand_off(int process, sqs::send_message_entry copy)
    {
        sqs::send_message_batch_request request("poison.fifo", {});
        request.entries.push_back(std::move(copy));
        sqs::send_message_batch_response done;
        done.successful.emplace_back().id = "0";
        service(process).sent(request, done);
    }

    /// The one thing that was wrong; empty: nothing was.
    std::string complaint() const
    {
        BOOST_TEST(books.violations.size() <= 1u);
        return books.violations.empty() ? "" : books.violations.front();
    }
    void expect(char const* part) const
    {
        BOOST_TEST_INFO(complaint());
        BOOST_TEST(complaint().find(part) != std::string::npos);
    }
    void expect_nothing() const { BOOST_TEST(complaint() == ""); }
};

} // namespace quern::test
