#pragma once

#include <quern/core/error.hpp>
#include <quern/core/lodgers.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <atomic>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

namespace quern {

namespace detail {

/// A coroutine that has asked for a T.
template <class T, class Handler>
class absentee final : public lodgers::lodger {
public:
    explicit absentee(Handler caller)
        : home_(boost::asio::prefer(
              boost::asio::require(boost::asio::any_io_executor(boost::asio::get_associated_executor(caller)),
                  boost::asio::execution::blocking.never),
              boost::asio::execution::outstanding_work.tracked)),
          caller_(std::move(caller))
    {}

    /// (Not asio::post: no copy of the executor may end its life on this thread. ThreadSanitizer does not see the
    /// fence by which Asio counts them.)
    static void resume(std::shared_ptr<absentee> who, std::exception_ptr thrown, T value)
    {
        auto const& home = who->home_;
        auto const keep = who;
        home.execute([who = std::move(who), thrown = std::move(thrown), value = std::move(value)]() mutable {
            boost::asio::get_associated_cancellation_slot(who->caller_).clear();
            std::move(who->caller_)(std::move(thrown), std::move(value));
        });
    }

private:
    boost::asio::any_io_executor const home_; // does not run out of work meanwhile
    Handler caller_;
};

/// Cancels nothing.
struct no_cancel {
    void operator()() const {}
};

template <class T>
struct is_result : std::false_type {};
template <class T>
struct is_result<result<T>> : std::true_type {};

} // namespace detail

/// The way to answer whoever has asked for a T; copies answer the same question. The first answer counts. When the
/// last copy goes without an answer, the question ends as if there were nobody to be asked any more.
///
/// Threads  any.
template <class T>
class asker {
public:
    asker() = default;

    explicit operator bool() const { return question_ != nullptr; }

    /// The coroutine goes on on its own executor, by a post. Nothing when it was told before, or its context has
    /// ended.
    void tell(T value) const
    {
        if (question_) question_->end({}, std::move(value));
    }
    void operator()(T value) const { tell(std::move(value)); }

    /// As tell(), but what it awaits throws this.
    void fail(std::exception_ptr thrown) const
    {
        if (question_) question_->end(std::move(thrown), T());
    }
    void fail(boost::system::error_code ec) const { fail(std::make_exception_ptr(boost::system::system_error(ec))); }

private:
    struct question {
        virtual ~question() = default;
        virtual void end(std::exception_ptr, T) = 0;
    };

    template <class Handler>
    struct question_of final : question {
        using absentee = detail::absentee<T, Handler>;

        explicit question_of(Handler caller)
            : home(lodgers::of(
                  boost::asio::query(boost::asio::get_associated_executor(caller), boost::asio::execution::context)))
        {
            auto made = std::make_shared<absentee>(std::move(caller));
            who = made;
            home->add(std::move(made));
        }
        ~question_of() override
        {
            if constexpr (detail::is_result<T>::value)
                end({}, failure(errc::stopped, "whoever was asked is gone"));
            else
                end(std::make_exception_ptr(boost::system::system_error(boost::asio::error::operation_aborted)), T());
        }
        void end(std::exception_ptr thrown, T value) override
        {
            if (answered.exchange(true)) return;
            lodgers::visit at(*home, who, lodgers::purpose::move_out);
            if (!at.who) return;
            auto one = std::static_pointer_cast<absentee>(std::move(at.who));
            absentee::resume(std::move(one), std::move(thrown), std::move(value));
        }

        std::shared_ptr<lodgers> const home;
        std::weak_ptr<lodgers::lodger> who;
        std::atomic<bool> answered{false};
    };

    template <class U, class Begin, class Cancel>
    friend boost::asio::awaitable<U> ask(Begin, Cancel);

    std::shared_ptr<question> question_;
};

/// Asks something of whoever lives on another executor, and resumes at home: suspends the caller until the asker<T>
/// that `begin(asker<T>)` is given is told. `begin` runs at once, on the caller's thread; it usually posts the
/// question to a strand. T: default constructible.
///
/// Fails         asker::fail(). When the last asker is gone: errc::stopped, where T is a result, else
///               asio::error::operation_aborted, thrown.
/// Cancellation  terminal, by `cancel()`, on the executor where it is emitted; it usually posts as well, and the
///               question still ends by an answer. Without one there is none. What both capture lives as long as the
///               coroutine waits.
/// Lifetime      of the caller: its context has work until the answer, and destroys it where none came, whoever still
///               keeps the asker. So it may own whom it asks.
///
/// (Spawning onto the strand with use_awaitable would do for the happy case; its cancellation crosses the executors
/// without a lock before Boost 1.83.)
template <class T, class Begin, class Cancel>
boost::asio::awaitable<T> ask(Begin begin, Cancel cancel)
{
    auto start = [](auto caller, Begin at_begin, Cancel at_cancel) {
        if constexpr (!std::is_same_v<Cancel, detail::no_cancel>) {
            if (auto slot = boost::asio::get_associated_cancellation_slot(caller); slot.is_connected()) {
                slot.assign([stop = std::move(at_cancel)](boost::asio::cancellation_type) mutable { stop(); });
            }
        }
        asker<T> who;
        who.question_ =
            std::make_shared<typename asker<T>::template question_of<decltype(caller)>>(std::move(caller));
        std::move(at_begin)(std::move(who));
    };
    return boost::asio::async_initiate<boost::asio::use_awaitable_t<> const, void(std::exception_ptr, T)>(
        std::move(start), boost::asio::use_awaitable, std::move(begin), std::move(cancel));
}

/// The same for what cannot be cancelled.
template <class T, class Begin>
boost::asio::awaitable<T> ask(Begin begin)
{
    return ask<T>(std::move(begin), detail::no_cancel());
}

} // namespace quern
