// Cost of handlers that must not repeat: once [MESSAGES] [ROUNDS]
//
// One thread consumes a backlog with a handler that does nothing: as it is, with keys in memory, with keys in a
// table, and with keys in a table around a batch handler. CPU is that thread's; the broker and the DynamoDB, that of
// the tests, have threads of their own. Rounds take turns; a figure is the median.
#include <quern/consumer/consumer.hpp>
#include <quern/idempotency/dynamodb_store.hpp>
#include <quern/idempotency/memory_store.hpp>
#include <quern/idempotency/once.hpp>

#include <support/fake_dynamodb.hpp>
#include <support/live_broker.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace asio = boost::asio;
namespace idempotency = quern::idempotency;
using quern::outcome;

namespace {

enum class way { plain, memory, table, batches };
constexpr std::array<std::pair<way, char const*>, 4> ways{{{way::plain, "as it is"}, {way::memory, "keys in memory"},
    {way::table, "keys in a table"}, {way::batches, "keys in a table, batches"}}};

/// A DynamoDB on a thread of its own, with the table `seen`.
class table {
public:
    table()
    {
        service_.tables.add("seen");
        ::setenv("AWS_ENDPOINT_URL_DYNAMODB", service_.url().c_str(), 1);
        thread_ = std::thread([this] { io_.run(); });
    }
    ~table() { stop(); }

    /// Its requests, once it has served the last.
    std::size_t stop()
    {
        io_.stop();
        if (thread_.joinable()) thread_.join();
        return service_.operations.size();
    }

private:
    asio::io_context io_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_ = make_work_guard(io_);
    quern::test::fake_dynamodb service_{io_};
    std::thread thread_;
};

struct request_count : quern::sqs::request_observer {
    std::size_t requests = 0;
    void request_done(quern::sqs::observed_request const&) override { ++requests; }
};

struct figures {
    double cpu_us, queue_requests, table_requests, rate;
};

double cpu_seconds()
{
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

std::shared_ptr<idempotency::once> guard_over(way how, asio::io_context& io)
{
    idempotency::once_options options;
    options.prefix = "bench";
    if (how == way::memory)
        return std::make_shared<idempotency::once>(std::make_shared<idempotency::memory_store>(), options);
    idempotency::dynamodb_store_options where;
    where.table = "seen";
    auto const client = std::make_shared<quern::services::dynamodb>(io.get_executor());
    return std::make_shared<idempotency::once>(std::make_shared<idempotency::dynamodb_store>(client, where), options);
}

asio::awaitable<outcome> handle(quern::delivery&)
{
    co_return quern::ack();
}

asio::awaitable<std::vector<outcome>> handle_all(quern::deliveries all)
{
    co_return std::vector<outcome>(all.size(), quern::ack());
}

figures measure(way how, int messages)
{
    quern::test::live_broker broker;
    auto const url = broker.create("orders");
    broker.send(url, messages);
    table keys;

    asio::io_context io(1);
    auto const requests = std::make_shared<request_count>();
    quern::sqs::client_options with;
    with.observer = requests;
    quern::sqs::client sqs(io.get_executor(), with);
    quern::consumer_options options;
    options.wait_time = std::chrono::seconds(1);
    std::optional<quern::consumer> orders;
    auto const guard = guard_over(how, io);
    if (how == way::plain)
        orders.emplace(io.get_executor(), sqs, url, handle, options);
    else if (how == way::batches)
        orders.emplace(io.get_executor(), sqs, url, guard->wrap(quern::batch_handler(handle_all)), options);
    else
        orders.emplace(io.get_executor(), sqs, url, guard->wrap(quern::handler(handle)), options);

    auto const began = std::chrono::steady_clock::now();
    auto const cpu = cpu_seconds();
    orders->start();
    auto const all = static_cast<std::uint64_t>(messages);
    while (orders->counters().acked < all)
        io.run_one();
    auto const used = cpu_seconds() - cpu;
    auto const took = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    auto const each = [&](double sum) { return sum / messages; };
    auto const asked = static_cast<double>(requests->requests);
    auto const written = how == way::table || how == way::batches ? static_cast<double>(keys.stop()) : 0.0;
    asio::co_spawn(io, orders->drain(std::chrono::seconds(5)), [&](std::exception_ptr, auto const&) { io.stop(); });
    io.run();
    return {each(used * 1e6), each(asked), each(written), messages / took};
}

double median(std::vector<figures> const& rounds, double figures::*which)
{
    std::vector<double> all;
    for (auto const& one : rounds)
        all.push_back(one.*which);
    std::ranges::sort(all);
    return all[all.size() / 2];
}

} // namespace

int main(int argc, char* argv[])
{
    int const messages = argc > 1 ? std::atoi(argv[1]) : 20'000;
    int const rounds = argc > 2 ? std::atoi(argv[2]) : 5;
    std::array<std::vector<figures>, ways.size()> seen;
    for (int round = 0; round < rounds; ++round)
        for (std::size_t i = 0; i < ways.size(); ++i)
            seen.at(i).push_back(measure(ways.at(i).first, messages));
    std::printf(
        "%-26s %16s %16s %16s %12s\n", "", "CPU us a message", "SQS requests", "table requests", "messages/s");
    for (std::size_t i = 0; i < ways.size(); ++i) {
        auto const& its = seen.at(i);
        std::printf("%-26s %16.2f %16.3f %16.3f %12.0f\n", ways.at(i).second, median(its, &figures::cpu_us),
            median(its, &figures::queue_requests), median(its, &figures::table_requests),
            median(its, &figures::rate));
    }
}
