#include <quern/sim/virtual_threads.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include <exception>

namespace quern::sim {

namespace asio = boost::asio;

namespace {

/// Virtual time halts there.
asio::awaitable<void> moment(clock& time, tick at)
{
    auto const timer = time.make_timer(co_await asio::this_coro::executor);
    co_await timer->wait_until(at);
}

} // namespace

virtual_threads::~virtual_threads()
{
    ending_ = true;
    for (auto& t : threads_) {
        if (!t.os.joinable()) continue;
        give_turn(t);
        t.os.join();
    }
}

std::size_t virtual_threads::run()
{
    std::size_t turns = 0;
    for (auto& t : threads_) {
        if (t.until ? *t.until > time_.now() : tasks_.empty()) continue;
        if (!t.os.joinable()) t.os = std::thread([this, &t] { live(t); });
        give_turn(t);
        ++turns;
    }
    return turns;
}

void virtual_threads::stand_still(std::chrono::milliseconds length)
{
    if (ending_) throw over();
    if (length.count() == 0) return;
    auto& me = *turn_;
    me.until = time_.now() + length;
    asio::co_spawn(timers_, moment(time_, *me.until), [](std::exception_ptr bug) {
        if (bug) std::rethrow_exception(bug);
    });
    yield(me);
    me.until.reset();
    if (ending_) throw over();
}

void virtual_threads::live(one& me)
{
    wait_for_turn(me);
    while (!ending_) {
        quern::detail::task next = std::move(tasks_.front());
        tasks_.pop_front();
        next();
        if (!ending_) yield(me);
    }
    return_turn();
}

void virtual_threads::give_turn(one& t)
{
    std::unique_lock lock(door_);
    turn_ = &t;
    t.told.notify_one();
    returned_.wait(lock, [this] { return !turn_; });
}

void virtual_threads::wait_for_turn(one& me)
{
    std::unique_lock lock(door_);
    me.told.wait(lock, [&] { return turn_ == &me; });
}

void virtual_threads::return_turn()
{
    std::lock_guard const lock(door_);
    turn_ = nullptr;
    returned_.notify_one();
}

void virtual_threads::yield(one& me)
{
    return_turn();
    wait_for_turn(me);
}

} // namespace quern::sim
