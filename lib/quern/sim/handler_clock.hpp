#pragma once

#include <quern/core/clock.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace quern::sim {

/// The clock of somebody else's handlers, which knows how many of their waits are under way: who runs and waits for
/// nothing here waits for something real, for which virtual time has no patience.
class handler_clock final : public clock {
public:
    explicit handler_clock(clock& c) : of_(c) {}

    tick now() const override { return of_.now(); }
    wall_time wall() const override { return of_.wall(); }
    std::unique_ptr<timer> make_timer(boost::asio::any_io_executor ex) override
    {
        return std::make_unique<counted>(of_.make_timer(std::move(ex)), waits_);
    }

    std::size_t waits() const { return *waits_; }

private:
    using count = std::shared_ptr<std::size_t>; // a handler may leave a timer behind

    class counted final : public timer {
    public:
        counted(std::unique_ptr<timer> t, count c) : of_(std::move(t)), waits_(std::move(c)) {}

        boost::asio::awaitable<bool> wait_until(tick at) override
        {
            struct under_way {
                explicit under_way(count const& c) : waits(c) { ++*waits; }
                ~under_way() { --*waits; }
                under_way(under_way const&) = delete;
                count const waits;
            } const counts(waits_);
            auto const due = co_await of_->wait_until(at);
            co_return due;
        }
        void cancel() override { of_->cancel(); }

    private:
        std::unique_ptr<timer> of_;
        count waits_;
    };

    clock& of_;
    count waits_ = std::make_shared<std::size_t>(0);
};

} // namespace quern::sim
