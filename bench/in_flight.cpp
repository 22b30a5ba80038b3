// Memory of messages in flight, each waiting in its handler: in-flight [--profile] [COUNT...]
//
// A broker in a process of its own is filled; a consumer with its usual settings receives everything over a socket,
// on one thread. Each count is measured in a fresh process.
#include <quern/broker/server.hpp>
#include <quern/consumer/consumer.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <malloc.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

std::array<long, 64 * 1024> live_blocks{}; // by size
constexpr std::size_t body_size = 256;

void* counted(void* block, long change)
{
    if (block) live_blocks[std::min(::malloc_usable_size(block), live_blocks.size() - 1)] += change;
    return block;
}

struct memory {
    double heap, resident;

    static memory now()
    {
        auto const heap = ::mallinfo2();
        std::ifstream pages("/proc/self/statm");
        double all = 0, resident = 0;
        pages >> all >> resident;
        return {static_cast<double>(heap.uordblks + heap.hblkhd),
            resident * static_cast<double>(::sysconf(_SC_PAGESIZE))};
    }
};

/// A process that serves `count` messages; its port.
std::pair<pid_t, std::uint16_t> start_broker(int count)
{
    int ends[2];
    if (::pipe(ends) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    auto const child = ::fork();
    if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL); // with whoever measures, however that one ends
        asio::io_context io;
        quern::broker::server_options options;
        options.port = 0;
        options.check_signatures = false;
        quern::broker::server server(io.get_executor(), options);
        server.listen().value();
        auto& queues = server.queues();
        auto const url =
            queues.create_queue(quern::sqs::create_queue_request("orders"), server.now()).value().queue_url;
        for (int i = 0; i < count; ++i) {
            quern::sqs::send_message_request letter(url, std::string(body_size, 'x'));
            queues.send_message(std::move(letter), server.now()).value();
        }
        auto const port = server.port();
        if (::write(ends[1], &port, sizeof port) != sizeof port) std::_Exit(1);
        io.run();
        std::_Exit(0);
    }
    std::uint16_t port = 0;
    if (::read(ends[0], &port, sizeof port) != sizeof port) throw std::runtime_error("the broker does not start");
    return {child, port};
}

struct counts {
    int running = 0;
    std::size_t carried = 0; // bodies and receipt handles, in bytes
};

asio::awaitable<void> wait(counts& now, quern::delivery& d)
{
    struct run {
        int& running;
        ~run() { --running; }
    } const one{++now.running};
    now.carried += d.body().size() + d.message().receipt_handle.size();
    auto const ex = co_await asio::this_coro::executor;
    asio::steady_timer timer(ex, 1h);
    co_await timer.async_wait(asio::use_awaitable);
}

void run_for(asio::io_context& io, std::chrono::seconds d)
{
    io.restart();
    io.run_for(d);
}

void measure(int count, bool profile)
{
    auto const [broker, port] = start_broker(count);
    auto const address = "http://127.0.0.1:" + std::to_string(port);
    ::setenv("AWS_ENDPOINT_URL_SQS", address.c_str(), 1);
    ::setenv("AWS_REGION", "us-east-1", 1);
    ::setenv("AWS_ACCESS_KEY_ID", "test", 1);
    ::setenv("AWS_SECRET_ACCESS_KEY", "test", 1);

    auto const before = memory::now();
    auto const blocks_before = live_blocks;
    asio::io_context io(1);
    counts seen;
    quern::consumer_options options;
    options.limits.max_in_flight = static_cast<std::size_t>(count);
    quern::consumer orders(
        io, address + "/000000000000/orders", [&](quern::delivery& d) { return wait(seen, d); }, options);
    orders.start();
    while (seen.running != count)
        io.run_one();
    run_for(io, 1s); // connections become idle

    auto const per_message = [&](double bytes) { return bytes / count; };
    auto const carried = per_message(static_cast<double>(seen.carried));
    auto const full = memory::now();
    auto const blocks_full = live_blocks;
    run_for(io, 45s); // each lease is extended twice
    auto const later = memory::now();
    std::printf("%8d %9.0f %12.0f %12.0f %12.0f %12llu %10d\n", count, carried,
        per_message(full.heap - before.heap) - carried, per_message(full.resident - before.resident) - carried,
        per_message(later.heap - before.heap) - carried, static_cast<unsigned long long>(orders.counters().extended),
        seen.running);
    if (profile) {
        std::printf("%8s   blocks a message of so many bytes:\n", "");
        for (std::size_t size = 0; size < live_blocks.size(); ++size) {
            auto const each = per_message(static_cast<double>(blocks_full[size] - blocks_before[size]));
            if (each >= 0.05)
                std::printf("%8s   %6.2f x %6zu = %7.0f\n", "", each, size, each * static_cast<double>(size));
        }
    }
    std::fflush(stdout);
    ::kill(broker, SIGKILL);
    ::waitpid(broker, nullptr, 0);
    std::_Exit(0); // a hundred thousand handlers need not be taken down one by one
}

} // namespace

// Every block goes through here: Asio takes frames of coroutines from aligned_alloc, not from operator new.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

void* malloc(std::size_t size)
{
    return counted(__libc_malloc(size), 1);
}
void* calloc(std::size_t number, std::size_t size)
{
    return counted(__libc_calloc(number, size), 1);
}
void* realloc(void* old, std::size_t size)
{
    return counted(__libc_realloc(counted(old, -1), size), 1);
}
void* aligned_alloc(std::size_t alignment, std::size_t size)
{
    return counted(__libc_memalign(alignment, size), 1);
}
void free(void* p)
{
    __libc_free(counted(p, -1));
}
}

int main(int argc, char* argv[])
{
    std::vector<int> wanted;
    bool profile = false;
    for (int i = 1; i < argc; ++i) {
        if (std::string_view(argv[i]) == "--profile")
            profile = true;
        else
            wanted.push_back(std::atoi(argv[i]));
    }
    if (wanted.empty()) wanted = {1'000, 10'000, 100'000};

    std::printf("bytes a message; the last three columns of bytes are without body and receipt handle\n");
    std::printf("%8s %9s %12s %12s %12s %12s %10s\n", "messages", "carried", "heap", "resident", "heap, 45 s",
        "extensions", "running");
    std::fflush(stdout);
    for (auto const count : wanted) {
        auto const child = ::fork();
        if (child == 0) measure(count, profile);
        int status = 0;
        ::waitpid(child, &status, 0);
        if (status != 0) return 1;
    }
}
