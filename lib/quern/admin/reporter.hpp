#pragma once

#include <quern/admin/picture.hpp>
#include <quern/consumer/consumer.hpp>
#include <quern/core/alarm.hpp>
#include <quern/metrics/consumer_metrics.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>
#include <vector>

namespace quern::admin {

/// Takes a picture of a program's consumers once a second, where they run. Each picture is a heartbeat as well: it
/// needs an answer of every consumer's own loop, so when something blocks one there is no further picture.
///
/// Threads  one at a time, on the executor given: that of one thread, or a strand.
class reporter : public std::enable_shared_from_this<reporter> {
public:
    static constexpr std::chrono::milliseconds every{1'000};

    reporter(boost::asio::any_io_executor, std::shared_ptr<board>, clock& = real_clock());

    /// Before begin(). `seen` is the consumer's observer; `counted` learns what each look tells, where there is one.
    void watch(std::string name, consumer const&, std::shared_ptr<recorder const> seen,
        std::shared_ptr<metrics::consumer_metrics> counted = {});

    void begin();

    /// Completes when it has let go of the consumers, with a last picture on the board that says that the work has
    /// ended.
    ///
    /// Cancellation  none.
    boost::asio::awaitable<void> end();

private:
    struct subject {
        std::string name;
        consumer const& of;
        std::shared_ptr<recorder const> seen;
        std::shared_ptr<metrics::consumer_metrics> counted;
        pulse last;
    };

    boost::asio::awaitable<void> run();
    boost::asio::awaitable<void> look();

    boost::asio::any_io_executor executor_;
    std::shared_ptr<board> to_;
    clock& time_;
    std::vector<subject> subjects_;
    alarm next_, ended_;
    bool running_ = false;
    bool over_ = false;
};

} // namespace quern::admin
