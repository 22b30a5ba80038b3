#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/completion.hpp>
#include <quern/core/error.hpp>
#include <quern/sqs/message.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/iterator/iterator_facade.hpp>

#include <atomic>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

namespace quern {

namespace detail {
struct held;
class lease_book;
} // namespace detail

/// An object that must agree before a lease is extended: what it protects reaches no further than it says.
///
/// Threads  called on the consumer's strand; one call at a time.
class lease_guard {
public:
    virtual ~lease_guard() = default;

    /// Completes with success when the message may be hidden for so long from the moment of the call and a second
    /// more, since the request takes its time, and with a failure when the lease is to be given up: the handler is
    /// cancelled, and its outcome dropped. What it throws counts as a failure.
    virtual boost::asio::awaitable<result<void>> extend(std::chrono::seconds) = 0;
};

/// A message in the hands of its handler, with the lease that comes with it.
///
/// Everything is a view into the answer that brought the message; copy what must outlive the handler. The object
/// ends with the message: to use it after its handler has ended is undefined. A program that is compiled without
/// NDEBUG asserts that no operation is begun then, for as long as the object is there.
///
/// The three operations take a completion token, and are awaitables without one. They complete with
/// void(result<void>), on the executor of the token's handler; one that has none is called on the consumer's strand,
/// and must be short.
///
/// Threads  the message does not change; the lease may be read, and the operations be begun, from any thread.
class delivery {
public:
    /// A request while the handler runs: for the delete, a lease at least so long, a guard of it.
    struct delete_now {};
    using wish = std::variant<delete_now, std::chrono::seconds, std::shared_ptr<lease_guard>>;

    /// Carries out what a delivery asks for; the consumer. Answers come once each, on any thread.
    class keeper {
    public:
        using reply = std::function<void(result<void>)>;
        virtual void ask(detail::held&, wish, reply) = 0;
        virtual boost::asio::any_io_executor get_executor() const = 0;

    protected:
        ~keeper() = default;
    };

    delivery(sqs::message message, std::shared_ptr<std::byte[]> storage, clock const& time)
        : message_(std::move(message)), storage_(std::move(storage)), time_(time),
          receive_count_(message_.receive_count()),
          first_received_at_(message_.first_received_at().value_or(wall_time::min()))
    {}
    delivery(delivery const&) = delete;
    delivery& operator=(delivery const&) = delete;

    std::string_view id() const { return message_.id; }
    std::string_view body() const { return message_.body; }
    int receive_count() const { return receive_count_; } ///< 1 on the first receive, across all consumers
    /// Given back now, the message would go to the dead-letter queue; as far as the queue's policy is known, which is
    /// asked for where there is outage_options::breaker.
    bool is_last_receive() const { return last_receive_; }
    std::optional<wall_time> first_received_at() const
    {
        if (first_received_at_ == wall_time::min()) return {};
        return first_received_at_;
    }
    std::string_view group() const { return message_.group_id(); } ///< empty when the message has none
    /// Grows within a group of a FIFO queue; empty on a standard queue.
    std::string_view sequence_number() const { return message_.system("SequenceNumber"); }
    sqs::message_attribute const* attribute(std::string_view name) const { return message_.attribute(name); }
    /// Its system attributes are those of options.system_attributes; on a FIFO queue others, too.
    sqs::message const& message() const { return message_; }

    /// End of the time for which the message is hidden from other consumers, as far as is known here. Moves as the
    /// lease is extended.
    tick lease_deadline() const { return tick(tick::duration(deadline_.load(std::memory_order_relaxed))); }

    /// Time left of the lease; negative when it has run out.
    tick::duration remaining() const { return lease_deadline() - time_.now(); }

    /// Deletes the message while its handler goes on; completes with what SQS says of it, when it says so. For work
    /// that may only begin once the message cannot come again. Refusals are retried as long as the lease lasts, which
    /// is extended meanwhile. A failure says that nobody knows: receipt_expired, the lease was lost before SQS
    /// confirmed it, and this handler is cancelled; or stopped, a drain ended first. The message may come again, here
    /// or elsewhere, or be deleted all the same. Otherwise what the handler returns or throws later
    /// changes nothing any more.
    ///
    /// Not to be cancelled, since the delete cannot be taken back. Always `co_await` it. If the handler returns
    /// first, its return value decides.
    template <class Token = boost::asio::use_awaitable_t<>>
    auto ack(Token&& token = {})
    {
        must_be_handled();
        return detail::complete(
            *this, [this, kept = kept_for<Token>()] { return ask(delete_now(), kept); }, std::forward<Token>(token));
    }

    /// Has the message hidden for `at_least` from now, 12 hours after its receive at most; completes when SQS has
    /// confirmed it. The consumer extends every lease by itself: this is for code that lets nothing else run, or that
    /// wants a margin before it does what cannot be undone. At once when that much is left. Fails as ack() does, and
    /// is not to be cancelled either.
    template <class Token = boost::asio::use_awaitable_t<>>
    auto extend(std::chrono::seconds at_least, Token&& token = {})
    {
        must_be_handled();
        return detail::complete(
            *this, [this, at_least, kept = kept_for<Token>()] { return ask(at_least, kept); },
            std::forward<Token>(token));
    }

    /// Has each extension of the lease wait for this guard, while the handler runs; completes when that is so. What
    /// is on the wire by then moves lease_deadline() no more: it is as far as the guard has to reach at first. Fails
    /// as ack() does, and is not to be cancelled either.
    template <class Token = boost::asio::use_awaitable_t<>>
    auto guard_lease(std::shared_ptr<lease_guard> guard, Token&& token = {})
    {
        must_be_handled();
        return detail::complete(
            *this, [this, guard = std::move(guard), kept = kept_for<Token>()] { return ask(guard, kept); },
            std::forward<Token>(token));
    }

    using executor_type = boost::asio::any_io_executor;

    /// Where completion handlers without an executor of their own are called.
    executor_type get_executor() const;

    /// Where these go. Without a keeper, as in the test of a handler, they succeed at once.
    void kept_by(keeper& who, detail::held& as)
    {
        keeper_ = &who;
        held_ = &as;
    }

    void note_last_receive(bool is_last) { last_receive_ = is_last; }
    void note_handler_ended(bool has_ended) { handler_ended_.store(has_ended, std::memory_order_relaxed); }

    /// Frees everything but the id: nobody will handle it.
    void forget_all()
    {
        auto const length = message_.id.size();
        std::shared_ptr<std::byte[]> id(new std::byte[length]);
        std::memcpy(id.get(), message_.id.data(), length);
        message_ = {};
        message_.id = {reinterpret_cast<char const*>(id.get()), length};
        storage_ = std::move(id);
    }

    /// Frees what nobody but the consumer has asked for.
    void forget_system_attributes() { std::vector<sqs::system_attribute>().swap(message_.system_attributes); }

private:
    friend class detail::lease_book;

    void must_be_handled() const
    {
        assert(!handler_ended_.load(std::memory_order_relaxed) &&
            "a delivery is used after its handler has ended: copy what must outlive the handler");
    }

    /// An awaitable lives in the handler; what begins elsewhere must find the message, though the handler has ended.
    template <class Token>
    std::shared_ptr<void const> kept_for() const
    {
        if constexpr (detail::is_default_token<Token>)
            return nullptr;
        else
            return kept();
    }
    std::shared_ptr<void const> kept() const;

    boost::asio::awaitable<result<void>> ask(wish, std::shared_ptr<void const> kept);

    sqs::message message_;
    std::shared_ptr<std::byte[]> storage_;
    clock const& time_;
    std::atomic<tick::rep> deadline_{0};
    int receive_count_;
    bool last_receive_ = false;
    std::atomic<bool> handler_ended_{false}; // and has not begun again
    wall_time first_received_at_;
    keeper* keeper_ = nullptr;
    detail::held* held_ = nullptr;
};

/// The argument of a batch handler: `for (auto& d : messages)`. A view, as long as the handler runs.
class deliveries {
public:
    class iterator : public boost::iterator_facade<iterator, delivery, boost::random_access_traversal_tag> {
    public:
        iterator() = default;
        explicit iterator(std::reference_wrapper<delivery> const* at) : at_(at) {}

    private:
        friend class boost::iterator_core_access;
        delivery& dereference() const { return *at_; }
        bool equal(iterator const& o) const { return at_ == o.at_; }
        void increment() { ++at_; }
        void decrement() { --at_; }
        void advance(std::ptrdiff_t n) { at_ += n; }
        std::ptrdiff_t distance_to(iterator const& o) const { return o.at_ - at_; }

        std::reference_wrapper<delivery> const* at_ = nullptr;
    };
    using const_iterator = iterator;

    deliveries() = default;
    explicit deliveries(std::span<std::reference_wrapper<delivery> const> all) : all_(all) {}

    iterator begin() const { return iterator(all_.data()); }
    iterator end() const { return iterator(all_.data() + all_.size()); }
    std::size_t size() const { return all_.size(); }
    bool empty() const { return all_.empty(); }
    delivery& operator[](std::size_t i) const { return all_[i]; }
    delivery& front() const { return all_.front(); }
    delivery& back() const { return all_.back(); }

private:
    std::span<std::reference_wrapper<delivery> const> all_;
};

} // namespace quern
