#include <quern/consumer/detail/run/runner.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/this_coro.hpp>

#include <exception>

namespace quern::detail {

namespace asio = boost::asio;

/// One call. The message comes home with what the handler said or threw, or when the coroutine is destroyed.
class runner::errand {
public:
    explicit errand(std::pair<std::shared_ptr<handler_channel>, held_ptr> from)
        : handle(from.first->handle), to_(std::move(from.first)), end_{std::move(from.second), {}, {}}
    {}
    errand(errand const&) = delete;
    ~errand()
    {
        if (!to_) return;
        end_.destroyed = true;
        go_home();
    }

    delivery& message() { return end_.what->message; }
    void said(outcome what) { end_.said = std::move(what); }
    void threw() { end_.thrown = std::current_exception(); }

    /// Nothing of this may be used afterwards: the coroutine may have gone on elsewhere, or be gone.
    void go_home()
    {
        auto const to = std::move(to_);
        auto end = std::move(end_);
        to->come_home(std::move(end));
    }

    handlers const& handle;

private:
    std::shared_ptr<handler_channel> to_;
    finished end_;
};

void runner::begin(std::shared_ptr<handler_channel> to, held_ptr h)
{
    next_.emplace(std::move(to), std::move(h));
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
        errand now(*std::move(next_));
        next_.reset();
        co_await asio::this_coro::reset_cancellation_state();
        co_await asio::this_coro::throw_if_cancelled(true);
        try {
            if (now.handle.plain) {
                co_await now.handle.plain(now.message());
                now.said(ack());
            } else {
                auto said = co_await now.handle.one(now.message());
                now.said(std::move(said));
            }
        } catch (...) {
            now.threw();
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
