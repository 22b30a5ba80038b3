#include <quern/sim/detail/downstream.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <exception>
#include <utility>

namespace quern::sim::detail {

namespace asio = boost::asio;

downstream::downstream(scenario const& day, clock& time, asio::any_io_executor ex)
    : time_(time), executor_(std::move(ex)), day_(day)
{}

asio::awaitable<void> downstream::change_servers()
{
    auto const timer = time_.make_timer(executor_);
    for (auto const& c : day_.servers) {
        co_await timer->wait_until(tick() + c.from);
        servers_ = static_cast<std::size_t>(c.servers);
        serve();
    }
}

asio::awaitable<void> downstream::call(std::chrono::milliseconds takes)
{
    auto const mine = std::make_shared<job>(job{takes});
    auto const done = time_.make_timer(co_await asio::this_coro::executor);
    struct leave { // also when the frame is destroyed with its context
        job& its;
        ~leave() { its.caller = nullptr; }
    } const left{*mine};
    mine->caller = done.get();
    line_.push_back(mine);
    serve();
    while (!mine->is_done) {
        co_await done->wait_until(tick::max());
        auto const state = co_await asio::this_coro::cancellation_state;
        if (!mine->is_done && state.cancelled() != asio::cancellation_type::none)
            throw boost::system::system_error(asio::error::operation_aborted);
    }
}

void downstream::serve()
{
    while (busy_ < servers_ && !line_.empty()) {
        auto const next = std::move(line_.front());
        line_.pop_front();
        if (next->caller == nullptr) continue; // gone
        ++busy_;
        asio::co_spawn(executor_, work(next), [](std::exception_ptr bug) {
            if (bug) std::rethrow_exception(bug);
        });
    }
}

asio::awaitable<void> downstream::work(std::shared_ptr<job> one)
{
    // 3 % for each that waits: threads, locks and caches that are in the way of each other.
    auto const over = day_.calls == call_times::longer_with_load ? static_cast<double>(line_.size()) : 0;
    auto const takes = std::chrono::duration_cast<tick::duration>(one->takes * (1 + 0.03 * over));
    auto const timer = time_.make_timer(executor_);
    co_await timer->wait_until(time_.now() + takes);
    --busy_;
    one->is_done = true;
    if (one->caller) one->caller->cancel();
    serve();
}

} // namespace quern::sim::detail
