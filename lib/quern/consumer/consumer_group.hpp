#pragma once

#include <quern/consumer/consumer.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/execution_context.hpp>

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace quern {

/// Settings of several consumers together.
struct consumer_group_options {
    /// Messages held at once by all of them, as consumer_limits::max_in_flight is for each. Each gets its share by
    /// weight while all are busy; what one does not need is lent to the others, and comes back as their messages end.
    /// At least one for each queue.
    std::size_t max_in_flight = 1'000;

    /// How often the group divides its limit again: at this interval while a consumer has no place left, and a
    /// quarter as often while no message is held. 10 ms to 1 min.
    std::chrono::milliseconds look_every{250};

    /// Time; the real one when null. Give the consumers the same.
    clock* time = nullptr;

    /// The first setting that cannot work.
    [[nodiscard]] std::optional<failure> validate() const;
};

/// Several consumers in one program, a queue each: one limit that they share by weight, and one drain with one
/// report.
///
///     quern::consumer_group all{io.get_executor()};
///     all.add(orders_url, handle_order, {}, 3);
///     all.add(mails_url, handle_mail);
///     all.drain_on({SIGINT, SIGTERM});
///     auto const end = co_await all.run();
///
/// When the receives of one are refused for too long (consumer_options::give_up) all drain, and run() fails
/// with the reason. If one consumer only drains, because it was stopped or has halted, the others go on and get its
/// share of the limit.
///
/// Lifetime  as of a consumer: destroying the object drains without waiting for it.
/// Threads   any, for every call once all are added.
class consumer_group {
public:
    /// Throws boost::system::system_error that names the option when one is wrong.
    explicit consumer_group(boost::asio::any_io_executor, consumer_group_options = consumer_group_options());
    template <std::derived_from<boost::asio::execution_context> Context>
    explicit consumer_group(Context& where, consumer_group_options options = consumer_group_options())
        : consumer_group(boost::asio::any_io_executor(where.get_executor()), options)
    {}

    /// Moves; the object moved from may be destroyed, or assigned to, and nothing else.
    consumer_group(consumer_group&&) noexcept = default;
    consumer_group& operator=(consumer_group&&) noexcept;
    ~consumer_group();

    using executor_type = boost::asio::any_io_executor;

    /// The one that was given.
    executor_type get_executor() const { return ex_; }

    /// Adds a consumer with a client of its own, on the same executor; the reference holds as long as this object.
    /// options.limits.max_in_flight is the most that it ever gets of what all share; turn the other limits as you
    /// like. `weight`: its part when all are busy, 1 to 1000.
    ///
    /// Requires  start() was not called yet.
    /// Throws    as the constructor of consumer; also for a queue that is there already on that executor, a weight
    ///           out of bounds, and more queues than max_in_flight.
    template <class F>
    consumer& add(
        std::string queue_url, F handle, consumer_options options = consumer_options(), std::size_t weight = 1)
    {
        return add(ex_, std::move(queue_url), std::move(handle), std::move(options), weight);
    }

    /// The same on another executor. A queue may have several consumers, each on an executor of its own: on a thread
    /// each they use as many cores, and call the handler on all of them. Another context, and the group's own, do not
    /// run out of work from now on until all consumers have ended.
    template <class F>
    consumer& add(boost::asio::any_io_executor on, std::string queue_url, F handle,
        consumer_options options = consumer_options(), std::size_t weight = 1)
    {
        return add(std::move(on), nullptr, std::move(queue_url), detail::make_handlers(std::move(handle)),
            std::move(options), weight);
    }

    /// The same with a client of yours, which several may share: it needs connections for the sum.
    template <class F>
    consumer& add(sqs::api& api, std::string queue_url, F handle, consumer_options options = consumer_options(),
        std::size_t weight = 1)
    {
        return add(
            ex_, &api, std::move(queue_url), detail::make_handlers(std::move(handle)), std::move(options), weight);
    }

    /// One of them.
    struct member {
        std::string queue_url;
        std::size_t weight;
        std::reference_wrapper<consumer> it;
    };

    /// All, in the order in which they were added.
    [[nodiscard]] std::vector<member> members() const { return members_; }

    /// Begins to receive from all queues.
    void start();

    /// Begins, unless it has begun, and completes when all have drained: with the sum of their reports, see
    /// drain_report::add().
    ///
    /// Fails with    what refused the receives of the first that gave up; drained() has the report.
    ///               operation_aborted  the wait was cancelled
    /// Cancellation  terminal: ends the wait, and nothing else.
    /// Completion    void(result<drain_report>)
    template <class Token = boost::asio::use_awaitable_t<>>
    auto run(Token&& token = {})
    {
        return detail::complete(
            *this, [this] { return run_to_end(); }, std::forward<Token>(token));
    }

    /// Drains all, each within `limit`, or its own drain_deadline. A second call cancels the handlers that run.
    void stop(std::optional<std::chrono::milliseconds> limit = {});

    /// The same, and completes with the sum of the reports.
    ///
    /// Cancellation  as drained(): a drain that has begun goes on.
    /// Completion    void(error_code, drain_report)
    template <class Token = boost::asio::use_awaitable_t<>>
    auto drain(std::chrono::milliseconds limit, Token&& token = {})
    {
        return detail::complete(
            *this, [this, limit] { return drain_within(limit); }, std::forward<Token>(token));
    }

    /// Completes when all have drained, whoever began that.
    ///
    /// Cancellation  terminal: ends the wait, with operation_aborted, and nothing else.
    /// Completion    void(error_code, drain_report)
    template <class Token = boost::asio::use_awaitable_t<>>
    auto drained(Token&& token = {})
    {
        return detail::complete(
            *this, [this] { return end_of_drain(); }, std::forward<Token>(token));
    }

    /// As consumer::drain_on(), for all of them.
    void drain_on(std::initializer_list<int> signals, std::optional<std::chrono::milliseconds> limit = {});

    /// Turns the shared limit; messages in flight stay. Completes at once: the shares follow at the next look.
    ///
    /// Fails with    errc::invalid_option  out of bounds, or less than one for each queue
    /// Cancellation  none.
    /// Completion    void(result<void>)
    template <class Token = boost::asio::use_awaitable_t<>>
    auto set_max_in_flight(std::size_t most, Token&& token = {})
    {
        return detail::complete(
            *this, [this, most] { return share(most); }, std::forward<Token>(token));
    }

private:
    consumer& add(boost::asio::any_io_executor, sqs::api*, std::string queue_url, handlers, consumer_options,
        std::size_t weight);
    boost::asio::awaitable<result<drain_report>> run_to_end();
    boost::asio::awaitable<drain_report> drain_within(std::chrono::milliseconds);
    boost::asio::awaitable<drain_report> end_of_drain();
    boost::asio::awaitable<result<void>> share(std::size_t);

    boost::asio::any_io_executor ex_;
    detail::lodgers::place at_;
    std::vector<member> members_;
    std::size_t max_in_flight_; // at first
    std::shared_ptr<std::atomic<bool>> begun_ = std::make_shared<std::atomic<bool>>(false);
};

} // namespace quern
