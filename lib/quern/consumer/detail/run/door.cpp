#include <quern/consumer/detail/line.hpp>
#include <quern/consumer/detail/run/door.hpp>

#include <boost/asio/post.hpp>
#include <boost/asio/system_executor.hpp>

#include <utility>

namespace quern::detail {

namespace asio = boost::asio;

void door::open(compact_strand to, std::weak_ptr<void> owner, door_keeper& who)
{
    std::lock_guard const lock(mutex_);
    to_ = std::move(to);
    open_ = true;
    owner_ = std::move(owner);
    who_ = &who;
}

void door::close()
{
    std::vector<finished> dropped; // once the lock is free
    std::lock_guard const lock(mutex_);
    to_.reset();
    open_ = false;
    dropped.swap(home_);
}

/// Requires  the lock. Posting only queues: nothing of anybody else's runs under it.
template <class Call>
void door::post(Call call)
{
    asio::post(*to_, [self = shared_from_this(), call = std::move(call)]() mutable {
        if (auto const alive = self->owner_.lock()) call(*self->who_);
    });
}

bool door::lets_begin(held_ptr const& h, handler_turn::number turn, tick::duration left, clock const* tells)
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

void door::come_home(finished one)
{
    one.what->message.note_handler_ended(true);
    std::lock_guard const lock(mutex_);
    if (!to_) return;
    home_.push_back(std::move(one));
    if (!std::exchange(expected_, true)) post([](door_keeper& who) { who.welcome(); });
}

void door::place_is_gone()
{
    std::lock_guard const lock(mutex_);
    if (to_) post([](door_keeper& who) { who.no_place(); });
}

void door::note_begun(held_ptr h)
{
    std::lock_guard const lock(mutex_);
    if (to_) post([h = std::move(h)](door_keeper& who) mutable { who.has_begun(std::move(h)); });
}

void door::ask_ack(held& h, reply tell)
{
    std::unique_lock lock(mutex_);
    if (!to_) {
        lock.unlock();
        return tell(too_late());
    }
    post([h = held_ptr(&h), tell = std::move(tell)](
             door_keeper& who) mutable { who.delete_asked(std::move(h), std::move(tell)); });
}

void door::ask_extend(held& h, std::chrono::seconds at_least, reply tell)
{
    std::unique_lock lock(mutex_);
    if (!to_) {
        lock.unlock();
        return tell(too_late());
    }
    post([h = held_ptr(&h), at_least, tell = std::move(tell)](
             door_keeper& who) mutable { who.extend_asked(std::move(h), at_least, std::move(tell)); });
}

void door::ask_guard(held& h, std::shared_ptr<lease_guard> guard, reply tell)
{
    std::unique_lock lock(mutex_);
    if (!to_) {
        lock.unlock();
        return tell(too_late());
    }
    post([h = held_ptr(&h), guard = std::move(guard), tell = std::move(tell)](
             door_keeper& who) mutable { who.guard_asked(std::move(h), std::move(guard), std::move(tell)); });
}

boost::asio::any_io_executor door::get_executor() const
{
    std::lock_guard const lock(mutex_);
    return to_ ? boost::asio::any_io_executor(*to_) : boost::asio::any_io_executor(boost::asio::system_executor());
}

void door::take(std::vector<finished>& into)
{
    std::lock_guard const lock(mutex_);
    into.swap(home_);
    expected_ = false;
}

} // namespace quern::detail
