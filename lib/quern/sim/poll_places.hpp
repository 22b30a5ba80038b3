#pragma once

#include <quern/core/alarm.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <utility>

namespace quern::sim {

class poll_place;

/// The connections that the long polls of one client share, however many consumers it has.
class poll_places {
public:
    explicit poll_places(std::size_t count) : free_(count) {}

private:
    friend poll_place;

    std::size_t free_;
    std::deque<poll_place*> line_;
};

/// One of these connections, or a place in the line for one; given back however its frame ends.
class poll_place {
public:
    poll_place(std::shared_ptr<poll_places> of, clock& time, boost::asio::any_io_executor ex)
        : of_(std::move(of)), time_(time), bell_(time, std::move(ex)), mine_(of_->free_ != 0)
    {
        if (mine_)
            --of_->free_;
        else
            of_->line_.push_back(this);
    }
    poll_place(poll_place const&) = delete;
    ~poll_place()
    {
        if (!mine_) {
            std::erase(of_->line_, this);
        } else if (of_->line_.empty()) {
            ++of_->free_;
        } else {
            auto& next = *of_->line_.front();
            of_->line_.pop_front();
            next.mine_ = true;
            next.bell_.ring();
        }
    }

    /// False when none came free until then, or its process stood still and saw it later: for whoever asks for
    /// messages counts the time from then.
    boost::asio::awaitable<bool> granted(tick until)
    {
        if (!mine_) co_await bell_.wait(until);
        co_return mine_&& time_.now() <= until;
    }

private:
    std::shared_ptr<poll_places> of_;
    clock& time_;
    alarm bell_;
    bool mine_;
};

} // namespace quern::sim
