// Tells of each message how long it waited, ran and took to be settled: telling QUEUE_URL
#include <quern/quern.hpp>

#include <boost/asio/this_coro.hpp>

#include <csignal>
#include <iostream>
#include <memory>
#include <stdexcept>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

long long milliseconds(quern::tick::duration d)
{
    return std::chrono::round<std::chrono::milliseconds>(d).count();
}

/// Called where the consumer works: quick, and nothing that blocks. A program of yours would add to histograms here.
class teller : public quern::observer {
public:
    void settled(quern::observed_message const& m, quern::message_end how, std::chrono::seconds) override
    {
        std::cout << (how == quern::message_end::deleted ? "deleted" : "not deleted") << " on try " << m.receive_count
                  << ": waited " << milliseconds(m.waited) << " ms, handled " << milliseconds(m.handled)
                  << " ms, settled " << milliseconds(m.settling) << " ms" << std::endl;
    }

    void receive_failed(quern::failure const& why, int in_a_row) override
    {
        std::cerr << in_a_row << " in a row: " << describe(why) << '\n';
    }

    void request_done(quern::sqs::observed_request const& r) override { requests += r.attempts; }

    void drain_ended(quern::drain_report const& report) override
    {
        std::cout << (requests > 0 ? "requests were made, " : "no requests, ")
                  << (report.clean() ? "nothing left behind" : "something left behind") << std::endl;
    }

private:
    int requests = 0;
};

asio::awaitable<void> handle(quern::delivery& order)
{
    auto const timer = quern::real_clock().make_timer(co_await asio::this_coro::executor);
    co_await timer->wait_until(quern::real_clock().now() + 20ms); // some work
    if (order.body() == "cake" && order.receive_count() == 1) throw std::runtime_error("no eggs");
}

} // namespace

int main(int argc, char* argv[])
{
    if (argc != 2) return 2;
    quern::consumer_options options;
    options.observer = std::make_shared<teller>();
    options.wait_time = 2s; // for a short drain while the queue is empty

    asio::io_context io;
    quern::consumer orders(io, argv[1], handle, options);
    orders.drain_on({SIGINT, SIGTERM});
    orders.start();
    io.run();
}
