#include <quern/consumer/detail/run/runner.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/this_coro.hpp>

#include <exception>

namespace quern::detail {

namespace asio = boost::asio;

namespace {

/// One call. The message comes home with what the handler said or threw, or when the coroutine is destroyed.
struct errand {
    std::shared_ptr<handler_channel> to;
    finished end;

    ~errand()
    {
        if (!to) return;
        end.destroyed = true;
        go_home();
    }

    /// Nothing of this may be used afterwards: the coroutine may have gone on elsewhere, or be gone.
    void go_home() { std::exchange(to, nullptr)->come_home(std::move(end)); }
};

} // namespace

void runner::begin(std::shared_ptr<handler_channel> to, held_ptr h)
{
    home_ = std::move(to);
    next_ = std::move(h);
    auto const bug = [](std::exception_ptr thrown) { // it has no end
        if (thrown) std::rethrow_exception(thrown);
    };
    if (!waits_) return asio::co_spawn(on, work(), asio::bind_cancellation_slot(cancel.slot(), bug));
    auto go_on = *std::move(waits_);
    waits_.reset();
    go_on();
}

/// A handler may leave its cancellation state as it likes, and may be told to end when it has: each call has a new
/// one, and the wait between two has none.
asio::awaitable<void> runner::work()
{
    for (;;) {
        errand now{std::move(home_), {std::move(next_), {}, {}}};
        auto const& handle = now.to->handle;
        auto& message = now.end.what->message;
        co_await asio::this_coro::reset_cancellation_state();
        co_await asio::this_coro::throw_if_cancelled(true);
        try {
            if (handle.plain) {
                co_await handle.plain(message);
                now.end.said = ack();
            } else {
                now.end.said = co_await handle.one(message);
            }
        } catch (...) {
            now.end.thrown = std::current_exception();
        }
        co_await asio::this_coro::throw_if_cancelled(false);
        auto const wait = [this, &now](auto wake) {
            waits_.emplace(std::move(wake));
            now.go_home();
        };
        co_await asio::async_initiate<asio::deferred_t const, void()>(wait, asio::deferred);
    }
}

} // namespace quern::detail
