#include <quern/consumer/detail/dispatch/call_line.hpp>

#include <boost/asio/post.hpp>

#include <chrono>
#include <utility>

namespace quern::detail {

namespace {

/// Whatever else waits for the thread waits for one stretch, and for the function that ends it.
constexpr std::chrono::microseconds longest_stretch{100};

} // namespace

void call_line::add(held_ptr h)
{
    std::lock_guard const lock(mutex_);
    waiting_.push_back(std::move(h));
    expect_runner();
}

/// Requires  the lock. Posting only queues: nothing of anybody else's runs under it.
void call_line::expect_runner()
{
    if (expected_) return;
    boost::asio::post(where_, [line = weak_from_this()] {
        if (auto const alive = line.lock()) alive->run();
    });
    expected_ = true;
}

void call_line::run()
{
    {
        std::lock_guard const lock(mutex_);
        expected_ = false;
    }
    if (!home_->is_open()) return;
    auto now = time_.now();
    auto const until = now + longest_stretch;
    do {
        auto h = next();
        if (!h) return;
        call(std::move(h), now);
        if (!home_->is_open()) return; // it has outlived the consumer, and the clock perhaps
        now = time_.now();
    } while (now < until);
}

held_ptr call_line::next()
{
    std::lock_guard const lock(mutex_);
    if (waiting_.empty()) return nullptr;
    auto out = std::move(waiting_.front());
    waiting_.pop_front();
    if (!waiting_.empty()) expect_runner();
    return out;
}

void call_line::call(held_ptr h, tick now)
{
    if (!home_->lets_begin(h, h->message.lease_deadline() - now, tells_)) return;
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
