#pragma once

#include <quern/core/alarm.hpp>
#include <quern/relay/detail/gentle_pace.hpp>

#include <boost/asio/awaitable.hpp>

#include <list>
#include <memory>
#include <optional>

namespace quern::relay::detail {

/// The line of requests that the pace holds back: first come, first served. Only the first one watches the clock.
///
/// Threads  one strand.
class turns {
public:
    turns(clock& time, boost::asio::any_io_executor ex) : time_(time), ex_(std::move(ex)) {}

    /// Completes when one more request may begin.
    ///
    /// Cancellation  any type; its place goes to the next.
    static boost::asio::awaitable<void> next(std::shared_ptr<turns>);

    void refused() { pace_.refused(time_.now()); }

    void succeeded()
    {
        if (!pace_.rate()) return;
        pace_.succeeded();
        wake();
    }

    /// Requests a second; absent: no limit.
    std::optional<double> rate() const { return pace_.rate(); }

private:
    class place {
    public:
        place(turns& all, alarm& bell) : all_(all), at_(all.line_.insert(all.line_.end(), &bell)) {}
        place(place const&) = delete;
        ~place()
        {
            all_.line_.erase(at_);
            all_.wake();
        }

    private:
        turns& all_;
        std::list<alarm*>::iterator at_;
    };

    void wake()
    {
        if (!line_.empty()) line_.front()->ring();
    }

    clock& time_;
    boost::asio::any_io_executor ex_;
    gentle_pace pace_;
    std::list<alarm*> line_;
};

} // namespace quern::relay::detail
