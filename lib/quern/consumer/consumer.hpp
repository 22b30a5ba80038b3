#pragma once

#include <quern/consumer/counters.hpp>
#include <quern/consumer/delivery.hpp>
#include <quern/consumer/drain_report.hpp>
#include <quern/consumer/explanation.hpp>
#include <quern/consumer/handler.hpp>
#include <quern/consumer/limits.hpp>
#include <quern/consumer/options.hpp>
#include <quern/consumer/outcome.hpp>
#include <quern/core/completion.hpp>
#include <quern/core/lodgers.hpp>
#include <quern/sqs/api.hpp>
#include <quern/telemetry/counter.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>

#include <concepts>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

namespace quern {

namespace detail {
class group_state;
}

/// Consumes one queue: every message runs through the handler and is deleted once the handler is done.
///
/// A handler is a coroutine `awaitable<void>(delivery&)`, where returning acknowledges and throwing retries, or
/// `awaitable<outcome>(delivery&)`; or a plain function that returns void or outcome, which cannot be cancelled and
/// while it runs occupies a thread (see consumer_options::handler_executor); or a coroutine that takes several
/// messages at once, `awaitable<void>(deliveries)` or `awaitable<std::vector<outcome>>(deliveries)`, see
/// batch_options::size. Delivery is at least once: a crash, a lost lease or the service itself may bring a
/// message again, so handlers must bear a repetition.
///
/// A handler whose lease is lost is cancelled (terminal cancellation of its coroutine) and its outcome is
/// dropped, since another consumer may have the message by then.
///
/// A queue whose URL ends in ".fifo" is consumed group by group, each in its order; see group_policy.
///
/// Operations take a completion token, and are awaitables without one; nothing happens before they are awaited. They
/// complete on the executor of the token's handler, or on get_executor().
///
/// Lifetime  any order: the state lives until the drain has ended, or until its context ends; destroying the object
///           drains without waiting for it. When the context of options.handler_executor, or a client that was given,
///           ends before it, it drains by itself: messages whose handlers went with it come again.
/// Threads   any, for every call and for destruction; only no call may be under way while it is destroyed. The
///           pipeline runs on a strand of the executor, which any number of threads may run. With several threads
///           where handlers run, see options.handler_executor, the function given is called on several at once.
class consumer {
public:
    /// A consumer with a client of its own: region, endpoint and keys from the environment, the profile and the
    /// queue's URL (docs/guide/connecting.md, credentials.md).
    ///
    /// In place of the URL of a queue its name does, "orders", or its ARN,
    /// "arn:aws:sqs:eu-west-1:123456789012:orders", of which the client takes its region. GetQueueUrl finds the URL
    /// before the first receive, for which the keys need sqs:GetQueueUrl; where that fails, the receive has failed,
    /// and is tried again.
    ///
    /// Throws boost::system::system_error that names the option when one is wrong, when no region is known, for an
    /// empty function, for what can be no queue, an ARN of another region than the client's, and for a poison queue
    /// that is the queue itself.
    /// Keys are looked for by the first request; where there are none, `options.log` is told, and it is tried again.
    template <class F>
    consumer(boost::asio::any_io_executor ex, std::string queue_url, F handle,
        consumer_options options = consumer_options())
        : consumer(std::move(ex), nullptr, std::move(queue_url), detail::make_handlers(std::move(handle)),
              std::move(options))
    {}
    template <std::derived_from<boost::asio::execution_context> Context, class F>
    consumer(Context& where, std::string queue_url, F handle, consumer_options options = consumer_options())
        : consumer(boost::asio::any_io_executor(where.get_executor()), std::move(queue_url), std::move(handle),
              std::move(options))
    {}

    /// A consumer that speaks through `api`, which is safe to call on the consumer's strand, as an sqs::client is.
    ///
    /// An sqs::client needs settings that fit the leases: client_options_for(options). The consumer claims
    /// connections of it, until its drain has ended: options.limits.max_polls and settle.max_calls. Several that
    /// share a client need the sum.
    ///
    /// `api` outlives the drain, unless it is an sqs::client (see sqs::api::share()): once the report is there no
    /// call begins any more, and one that is still under way ends as it may. options.time, where given, outlives the
    /// context.
    ///
    /// Throws as the other, and when the client has too few connections left.
    template <class F>
    consumer(boost::asio::any_io_executor ex, sqs::api& api, std::string queue_url, F handle,
        consumer_options options = consumer_options())
        : consumer(
              std::move(ex), &api, std::move(queue_url), detail::make_handlers(std::move(handle)), std::move(options))
    {}

    /// Moves; the object moved from may be destroyed, or assigned to, and nothing else.
    consumer(consumer&&) noexcept = default;
    consumer& operator=(consumer&&) noexcept;
    ~consumer();

    using executor_type = boost::asio::any_io_executor;

    /// The one that was given.
    executor_type get_executor() const { return ex_; }

    /// Begins to receive. Once; a drain cannot be undone.
    void start();

    /// Begins to receive, unless it has begun, and completes at the very end: with the report of the drain, whoever
    /// began that.
    ///
    /// Fails with    what refused the receives, once it has given up and drained; see
    ///               consumer_options::give_up. drained() has the report of that drain.
    ///               errc::stopped      it has drained: the client was closed, or handler_executor's context ended
    ///               operation_aborted  the wait was cancelled
    /// Cancellation  terminal: ends the wait, and nothing else.
    /// Completion    void(result<drain_report>)
    template <class Token = boost::asio::use_awaitable_t<>>
    auto run(Token&& token = {})
    {
        return detail::complete(
            *this, [this] { return run_to_end(); }, std::forward<Token>(token));
    }

    /// Stops receiving, lets the receives under way and the running handlers end, gives back what was not
    /// started, settles everything, and completes with the report, at the latest after `limit` (0 to 12 h; what is
    /// beyond is cut). A limit shorter than options.wait_time may end before the receives under way do: they are
    /// counted in drain_report::polls, and options.drain_deadline should say so beforehand.
    ///
    /// A second call, or a second signal, cancels the running handlers at once and completes with the first.
    ///
    /// Awaited by a handler of this consumer it would wait for that handler: as soon as only such handlers are left
    /// they are cancelled, and their messages given back. For a handler, stop() is the way.
    ///
    /// Cancellation  as drained(): a drain that has begun goes on.
    /// Completion    void(error_code, drain_report)
    template <class Token = boost::asio::use_awaitable_t<>>
    auto drain(std::chrono::milliseconds limit, Token&& token = {})
    {
        return detail::complete(
            *this, [this, limit] { return drain_within(limit); }, std::forward<Token>(token));
    }

    /// Begins a drain and returns at once: the way to stop from within a handler, on a fatal error say. `limit`: as
    /// of drain(), options.drain_deadline when absent.
    void stop(std::optional<std::chrono::milliseconds> limit = {});

    /// Drains when one of the signals comes, within `limit` or options.drain_deadline; the process lives on until
    /// io_context::run() returns. Call it before start(): receives wait no longer than such a drain allows. Further
    /// calls add signals; one that is named again gets the new limit.
    ///
    /// Throws boost::system::system_error when a signal cannot be caught, as SIGKILL.
    void drain_on(std::initializer_list<int> signals, std::optional<std::chrono::milliseconds> limit = {});

    /// No more receives, and no more handlers; those that run go on. What arrives meanwhile becomes visible again
    /// within a minute and a half.
    /// `why` is for whoever asks explain().
    void pause(std::string why = {});
    void resume();

    /// A flag from outside: what the handlers depend on is known to be down. No handler begins until it is false
    /// again; messages on their last receive wait here meanwhile, where options.outage.breaker is set.
    void report_outage(bool down);

    /// Somebody has mended what was down: where an outage is suspected, one message begins at once, and what waits
    /// here goes on at the breaker's pace, instead of up to a minute later. A success ends the suspicion, as ever.
    void probe_now();

    /// Turns limits while it runs: `change` is given those in force, on the consumer's strand, and sets what is to be
    /// otherwise, as `[](consumer_limits& l) { l.rate.reset(); }`; it must not throw. Completes when they are in
    /// force, which takes a moment. Messages in flight, handlers and receives under way are left alone: after a limit
    /// was lowered below what there is, nothing new begins until there is less. It can only become less than the
    /// receives under way have asked for.
    ///
    /// Fails with    errc::invalid_option  one cannot work, by name, or the client has too few connections for
    ///                                     max_polls; nothing is turned. What was claimed for more stays claimed.
    ///               errc::stopped         the drain has ended
    /// Cancellation  none.
    /// Completion    void(result<void>)
    template <class Token = boost::asio::use_awaitable_t<>>
    auto set_limits(std::function<void(consumer_limits&)> change, Token&& token = {})
    {
        return detail::complete(
            *this, [this, change = std::move(change)] { return turn_limits(change); }, std::forward<Token>(token));
    }

    /// The same with all of them.
    template <class Token = boost::asio::use_awaitable_t<>>
    auto set_limits(consumer_limits const& to, Token&& token = {})
    {
        return set_limits([to](consumer_limits& l) { l = to; }, std::forward<Token>(token));
    }

    /// Completes with what it does, and why no more. to_string() makes one line of it: "0 receives open, 1000
    /// messages in flight; max_in_flight is reached: 1000 are being handled, 0 wait or are being settled; …";
    /// to_json() as well.
    ///
    /// Cancellation  none: the answer is there in a moment.
    /// Completion    void(error_code, explanation)
    template <class Token = boost::asio::use_awaitable_t<>>
    auto explain(Token&& token = {}) const
    {
        return detail::complete(
            *this, [this] { return explained(); }, std::forward<Token>(token));
    }

    /// Completes when a drain has ended, whoever began it.
    ///
    /// Cancellation  terminal: ends the wait, with operation_aborted, and nothing else.
    /// Completion    void(error_code, drain_report)
    template <class Token = boost::asio::use_awaitable_t<>>
    auto drained(Token&& token = {})
    {
        return detail::complete(
            *this, [this] { return end_of_drain(); }, std::forward<Token>(token));
    }

    /// Each number is of the moment when it is read, so on another thread two of them may be of different moments.
    [[nodiscard]] consumer_counters counters() const;

    /// The numbers behind counters(), for whoever reads them longer than this object lives.
    std::shared_ptr<consumer_numbers<counter> const> shared_counters() const { return counters_; }

    /// Messages held now.
    [[nodiscard]] std::size_t in_flight() const;

private:
    friend class consumer_group;
    friend class detail::group_state;

    /// State that a limit shared with others depends on.
    struct burden {
        std::size_t in_flight = 0, coming = 0; ///< messages; the latter may be brought by the receives under way
        bool ending = false;                   ///< it takes nothing more
    };
    boost::asio::awaitable<burden> weigh() const;
    boost::asio::awaitable<result<drain_report>> run_to_end();
    boost::asio::awaitable<drain_report> drain_within(std::chrono::milliseconds);
    boost::asio::awaitable<drain_report> end_of_drain();
    boost::asio::awaitable<result<void>> turn_limits(std::function<void(consumer_limits&)> change);
    boost::asio::awaitable<explanation> explained() const;
    void halt(); ///< as stop(), and nothing when it drains already

    consumer(boost::asio::any_io_executor, sqs::api*, std::string queue_url, handlers, consumer_options);

    boost::asio::any_io_executor ex_;
    detail::lodgers::place at_;
    std::shared_ptr<consumer_numbers<counter> const> counters_;
};

} // namespace quern
