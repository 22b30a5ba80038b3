#include <quern/consumer/detail/run/handler_channel.hpp>
#include <quern/consumer/detail/stage_context.hpp>

#include <boost/asio/post.hpp>
#include <boost/asio/system_executor.hpp>

#include <utility>

namespace quern::detail {

namespace asio = boost::asio;

void handler_channel::open(compact_strand to, std::weak_ptr<void> owner, channel_keeper& who)
{
    std::lock_guard const lock(mutex_);
    to_ = std::move(to);
    open_ = true;
    owner_ = std::move(owner);
    who_ = &who;
}

void handler_channel::close()
{
    std::vector<finished> dropped; // once the lock is free
    std::lock_guard const lock(mutex_);
    to_.reset();
    open_ = false;
    dropped.swap(home_);
}

/// Requires  the lock. Posting only queues: nothing of anybody else's runs under it.
template <class Call>
void handler_channel::post(Call call)
{
    asio::post(*to_, [self = shared_from_this(), call = std::move(call)]() mutable {
        if (auto const alive = self->owner_.lock()) call(*self->who_);
    });
}

bool handler_channel::lets_begin(
    held_ptr const& h, handler_turn::number turn, tick::duration left, clock const* tells)
{
    if (!h->turn.waits(turn) || !is_open()) return false;
    if (left.count() <= 0) {
        if (h->turn.call_off(turn)) come_home({h, {}, {}});
        return false;
    }
    if (!h->turn.begin(turn)) return false;
    h->message.note_handler_ended(false); // an outage may have kept it, for another run
    if (tells) {
        h->started_at = tells->now();
        note_begun(h);
    }
    return true;
}

void handler_channel::come_home(finished one)
{
    one.what->message.note_handler_ended(true);
    std::lock_guard const lock(mutex_);
    if (!to_) return;
    home_.push_back(std::move(one));
    if (!std::exchange(expected_, true)) post([](channel_keeper& who) { who.welcome(); });
}

void handler_channel::context_is_gone()
{
    std::lock_guard const lock(mutex_);
    if (to_) post([](channel_keeper& who) { who.no_place(); });
}

void handler_channel::note_begun(held_ptr h)
{
    std::lock_guard const lock(mutex_);
    if (to_) post([h = std::move(h)](channel_keeper& who) mutable { who.has_begun(std::move(h)); });
}

void handler_channel::ask(held& h, delivery::wish what, reply tell)
{
    std::unique_lock lock(mutex_);
    if (!to_) {
        lock.unlock();
        return tell(too_late());
    }
    post([h = held_ptr(&h), what = std::move(what), tell = std::move(tell)](
             channel_keeper& who) mutable { who.asked(std::move(h), std::move(what), std::move(tell)); });
}

boost::asio::any_io_executor handler_channel::get_executor() const
{
    std::lock_guard const lock(mutex_);
    return to_ ? boost::asio::any_io_executor(*to_) : boost::asio::any_io_executor(boost::asio::system_executor());
}

void handler_channel::take(std::vector<finished>& into)
{
    std::lock_guard const lock(mutex_);
    into.swap(home_);
    expected_ = false;
}

} // namespace quern::detail
