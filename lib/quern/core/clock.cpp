#include <quern/core/clock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace quern {
namespace {

namespace asio = boost::asio;

class asio_timer final : public timer {
public:
    explicit asio_timer(asio::any_io_executor ex) : timer_(std::move(ex)) {}

    asio::awaitable<bool> wait_until(tick at) override
    {
        timer_.expires_at(at);
        auto const [ec] = co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
        co_return !ec;
    }

    void cancel() override { timer_.cancel(); }

private:
    asio::steady_timer timer_;
};

class asio_clock final : public clock {
public:
    tick now() const override { return std::chrono::steady_clock::now(); }
    wall_time wall() const override { return std::chrono::system_clock::now(); }
    std::unique_ptr<timer> make_timer(asio::any_io_executor ex) override
    {
        return std::make_unique<asio_timer>(std::move(ex));
    }
};

} // namespace

clock& real_clock()
{
    static asio_clock instance;
    return instance;
}

} // namespace quern
