#pragma once

#include <quern/core/error.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/error.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace quern::detail {

/// A coroutine that waits, as the copies of its asker know it. The answer itself lies beside it.
class question {
public:
    virtual ~question() = default;

    /// True once: then the answer is the caller's to write, and to finish().
    virtual bool take() = 0;

    /// The coroutine goes on, or throws this.
    virtual void finish(std::exception_ptr thrown) = 0;
};
using question_ptr = std::shared_ptr<question>;

/// Suspends the caller until the question is finished: true. False when its last owner has gone before.
/// No template, so that Asio's part of it is compiled once.
boost::asio::awaitable<bool> put_question(std::function<void(question_ptr)> begin, std::function<void()> cancel);

template <class T>
struct is_result : std::false_type {};
template <class T>
struct is_result<result<T>> : std::true_type {};

/// The way to answer a coroutine that has asked for a T; copies answer the same question. The first answer counts.
/// When the last copy goes without an answer, the question ends as if there were nobody to be asked any more.
///
/// Threads  any.
template <class T>
class asker {
public:
    using value_type = T;

    asker() = default;
    asker(question_ptr question, std::shared_ptr<std::optional<T>> answer)
        : question_(std::move(question)), answer_(std::move(answer))
    {}

    explicit operator bool() const { return question_ != nullptr; }

    /// The coroutine goes on on its own executor, by a post. Nothing when it was told before, or its context has
    /// ended.
    void tell(T value) const
    {
        if (!question_ || !question_->take()) return;
        answer_->emplace(std::move(value));
        question_->finish({});
    }
    void operator()(T value) const { tell(std::move(value)); }

    /// As tell(), but what it awaits throws this.
    void fail(std::exception_ptr thrown) const
    {
        if (question_ && question_->take()) question_->finish(std::move(thrown));
    }
    /// Where T is a result, it fails with this code; else this is thrown.
    void fail(boost::system::error_code ec) const
    {
        if constexpr (is_result<T>::value) {
            failure why;
            why.code = ec;
            tell(std::move(why));
        } else {
            fail(std::make_exception_ptr(boost::system::system_error(ec)));
        }
    }

private:
    question_ptr question_;
    std::shared_ptr<std::optional<T>> answer_;
};

/// Asks something of what lives on another executor, and resumes at home: suspends the caller until the asker<T>
/// that `begin(asker<T>)` is given is told. `begin` runs at once, on the caller's thread; it usually posts the
/// question to a strand.
///
/// Fails         asker::fail(). When the last asker is gone: errc::stopped, where T is a result, else
///               asio::error::operation_aborted, thrown.
/// Cancellation  terminal, by `cancel()`, on the executor where it is emitted; it usually posts as well, and the
///               question still ends by an answer. Without one there is none. What it captures lives as long as the
///               coroutine waits, what `begin` captures until it has run.
/// Lifetime      of the caller: its context has work until the answer, and destroys it where none came, also while
///               somebody keeps the asker. So it may own whom it asks.
///
/// (Spawning onto the strand with use_awaitable would do for the happy case; its cancellation crosses the executors
/// without a lock before Boost 1.83.)
template <class T, class Begin>
boost::asio::awaitable<T> ask(Begin begin, std::function<void()> cancel = {})
{
    auto const answer = std::make_shared<std::optional<T>>();
    std::function<void(question_ptr)> start = [answer, begin = std::move(begin)](auto one) mutable {
        asker<T> who(std::move(one), answer);
        begin(std::move(who));
    };
    auto end = put_question(std::move(start), std::move(cancel));
    bool const answered = co_await std::move(end);
    if (!answered) {
        if constexpr (is_result<T>::value)
            co_return failure(errc::stopped, "what was asked is gone");
        else
            throw boost::system::system_error(boost::asio::error::operation_aborted);
    }
    co_return std::move(**answer);
}

} // namespace quern::detail
