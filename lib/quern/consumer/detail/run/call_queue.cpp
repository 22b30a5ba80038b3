#include <quern/consumer/detail/run/call_queue.hpp>

#include <boost/asio/post.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace quern::detail {

namespace {

constexpr std::size_t fewest_to_sweep = 64;

/// Whatever else waits for the thread waits for one stretch, and for the function that ends it.
constexpr std::chrono::microseconds longest_stretch{100};

} // namespace

void call_queue::add(held_ptr h, handler_turn::number turn)
{
    std::lock_guard const lock(mutex_);
    if (waiting_.size() >= sweep_at_) { // threads that hang would keep what was called off
        std::erase_if(waiting_, [](waiting const& w) { return !w.what->turn.waits(w.turn); });
        sweep_at_ = std::max(fewest_to_sweep, 2 * waiting_.size());
    }
    waiting_.push_back({std::move(h), turn});
    expect_runner();
}

/// Requires  the lock. Posting only queues: nothing of anybody else's runs under it.
void call_queue::expect_runner()
{
    if (expected_) return;
    boost::asio::post(where_, [line = weak_from_this()] {
        if (auto const alive = line.lock()) alive->run();
    });
    expected_ = true;
}

void call_queue::run()
{
    {
        std::lock_guard const lock(mutex_);
        expected_ = false;
    }
    if (!home_->is_open()) return;
    auto now = time_.now();
    auto const until = now + longest_stretch;
    do {
        auto first = next();
        if (!first) return;
        call(std::move(*first), now);
        if (!home_->is_open()) return; // it has outlived the consumer, and the clock perhaps
        now = time_.now();
    } while (now < until);
}

std::optional<call_queue::waiting> call_queue::next()
{
    std::lock_guard const lock(mutex_);
    if (waiting_.empty()) return {};
    std::optional<waiting> out(std::move(waiting_.front()));
    waiting_.pop_front();
    if (!waiting_.empty()) expect_runner();
    return out;
}

void call_queue::call(waiting first, tick now)
{
    auto& h = first.what;
    if (!home_->lets_begin(h, first.turn, h->message.lease_deadline() - now, tells_)) return;
    finished done;
    try {
        done.said = home_->handle.call(h->message);
    } catch (...) {
        done.thrown = std::current_exception();
    }
    done.what = std::move(h);
    home_->come_home(std::move(done));
}

} // namespace quern::detail
