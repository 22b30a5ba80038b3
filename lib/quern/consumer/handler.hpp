#pragma once

#include <quern/consumer/delivery.hpp>
#include <quern/consumer/outcome.hpp>
#include <quern/consumer/own_executor.hpp>

#include <boost/asio/awaitable.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace quern {

/// The function that runs for each message. Returns the outcome; an exception counts as retry().
using handler = std::function<boost::asio::awaitable<outcome>(delivery&)>;

/// The function that runs for several messages at once. Returns their outcomes, in the same order; an exception
/// counts as retry() of all.
using batch_handler = std::function<boost::asio::awaitable<std::vector<outcome>>(deliveries)>;

/// One of them is set, or none where the function given was empty.
struct handlers {
    std::function<outcome(delivery&)> call; ///< a plain function
    handler one;
    std::function<boost::asio::awaitable<void>(delivery&)> plain; ///< its end counts as ack()
    batch_handler many;
    bool says_outcomes = false; ///< may reject a message; else it throws, or all is well

    bool is_empty() const { return !call && !one && !plain && !many; }
};

namespace detail {

/// A std::function or a pointer that stands for no function.
template <class F>
bool is_empty(F const& f)
{
    if constexpr (std::is_pointer_v<F>)
        return !f;
    else if constexpr (requires { f.operator bool(); })
        return !f.operator bool();
    else
        return false;
}

/// The coroutine around a batch handler that returns awaitable<void>: it throws, or all went well.
template <class F>
boost::asio::awaitable<std::vector<outcome>> all_done(std::shared_ptr<F> f, deliveries all)
{
    co_await (*f)(all);
    std::vector<outcome> said(all.size(), ack());
    co_return said;
}

/// Takes any function that fits, one that can only be moved included.
template <class F>
handlers make_handlers(F given)
{
    handlers out;
    if (is_empty(given)) return out;
    auto const f = std::make_shared<F>(std::move(given));
    if constexpr (std::invocable<F&, delivery&>) {
        using returned = std::invoke_result_t<F&, delivery&>;
        if constexpr (of_own_executor<returned>::value) {
            return make_handlers([f](delivery& d) { return run_on_own_executor((*f)(d)); });
        } else if constexpr (std::same_as<returned, boost::asio::awaitable<void>>) {
            out.plain = [f](delivery& d) { return (*f)(d); };
        } else if constexpr (std::same_as<returned, void>) {
            out.call = [f](delivery& d) {
                (*f)(d);
                return ack();
            };
        } else if constexpr (std::same_as<returned, outcome>) {
            out.call = [f](delivery& d) { return (*f)(d); };
            out.says_outcomes = true;
        } else {
            static_assert(std::same_as<returned, boost::asio::awaitable<outcome>>,
                "a handler returns awaitable<void> or awaitable<quern::outcome>, or void or quern::outcome");
            out.one = [f](delivery& d) { return (*f)(d); };
            out.says_outcomes = true;
        }
    } else {
        static_assert(std::invocable<F&, deliveries>, "a handler takes a quern::delivery& or a quern::deliveries");
        using returned = std::invoke_result_t<F&, deliveries>;
        if constexpr (of_own_executor<returned>::value) {
            return make_handlers([f](deliveries all) { return run_on_own_executor((*f)(all)); });
        } else if constexpr (std::same_as<returned, boost::asio::awaitable<void>>) {
            out.many = [f](deliveries all) { return all_done(f, all); };
        } else {
            static_assert(std::same_as<returned, boost::asio::awaitable<std::vector<outcome>>>,
                "a batch handler returns awaitable<void> or awaitable<std::vector<quern::outcome>>");
            out.many = [f](deliveries all) { return (*f)(all); };
            out.says_outcomes = true;
        }
    }
    return out;
}

} // namespace detail
} // namespace quern
