#include <quern/sim/virtual_clock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <stdexcept>

namespace quern::sim {

namespace asio = boost::asio;

/// Parks its waiter on a real timer that never expires by itself.
class virtual_clock::virtual_timer final : public timer {
public:
    virtual_timer(virtual_clock& owner, asio::any_io_executor ex) : owner_(owner), parked_(std::move(ex), tick::max())
    {}
    ~virtual_timer() override { unlist(); }

    asio::awaitable<bool> wait_until(tick at) override
    {
        fired_ = false;
        if (at <= owner_.now_) {
            owner_.count_idle_wait();
            co_return true;
        }
        listed_ = owner_.waits_.emplace(at, this);
        struct leave { // also when the frame is destroyed with its context
            virtual_timer& line;
            ~leave() { line.unlist(); }
        } const left{*this};
        [[maybe_unused]] auto const [ec] = co_await parked_.async_wait(asio::as_tuple(asio::use_awaitable));
        co_return fired_;
    }

    void cancel() override { parked_.cancel(); }

    void fire()
    {
        fired_ = true;
        unlist();
        parked_.cancel();
    }

private:
    void unlist()
    {
        if (listed_) owner_.waits_.erase(*listed_);
        listed_.reset();
    }

    virtual_clock& owner_;
    asio::steady_timer parked_;
    std::optional<waits::iterator> listed_;
    bool fired_ = false;
};

std::unique_ptr<timer> virtual_clock::make_timer(asio::any_io_executor ex)
{
    return std::make_unique<virtual_timer>(*this, std::move(ex));
}

std::optional<tick> virtual_clock::next_timer() const
{
    if (waits_.empty() || waits_.begin()->first == tick::max()) return {};
    return waits_.begin()->first;
}

std::size_t virtual_clock::settle(asio::io_context& io)
{
    io.restart();
    return io.poll();
}

/// Fails loudly where the real clock would only burn a processor.
void virtual_clock::count_idle_wait()
{
    constexpr std::size_t many = 1'000'000;
    if (++waits_now_ < many) return;
    waits_now_ = 0;
    throw std::logic_error("a million waits at one moment ended at once: somebody waits for a time that is over");
}

bool virtual_clock::fire_next(tick end)
{
    auto const next = next_timer();
    if (!next || *next > end) return false;
    now_ = *next;
    waits_now_ = 0;
    waits_.begin()->second->fire();
    return true;
}

std::size_t virtual_clock::run_until(asio::io_context& io, tick end)
{
    auto handlers = settle(io);
    while (fire_next(end))
        handlers += settle(io);
    now_ = std::max(now_, end);
    return handlers;
}

} // namespace quern::sim
