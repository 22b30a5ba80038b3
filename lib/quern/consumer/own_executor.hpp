#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace quern::detail {

template <class T>
struct of_own_executor : std::false_type {};
template <class T, class Executor>
struct of_own_executor<boost::asio::awaitable<T, Executor>>
    : std::bool_constant<!std::is_same_v<Executor, boost::asio::any_io_executor>> {};

/// The executor beneath a strand of Quern's; any other executor itself.
boost::asio::any_io_executor beneath_strand(boost::asio::any_io_executor const&);

[[noreturn]] void throw_no_such_executor();

using ended_elsewhere = std::function<void(std::exception_ptr)>;
using begin_elsewhere = std::function<void(boost::asio::cancellation_slot, ended_elsewhere)>;

/// Calls `begin` on that executor, and completes when that has called what it was given. A cancellation goes to the
/// slot, on that executor.
///
/// Fails  what `begin` hands on, thrown; operation_aborted when the executor's context has ended.
boost::asio::awaitable<void> await_elsewhere(boost::asio::any_io_executor, begin_elsewhere);

template <class Executor>
Executor own_executor_of(boost::asio::any_io_executor const& beneath)
{
    auto const* const own = beneath.target<Executor>();
    if (!own) throw_no_such_executor();
    return *own;
}

/// Runs a coroutine whose executor is of another type than any_io_executor: on the executor of that type that the
/// caller's own is, or works on.
///
/// Throws std::logic_error when the caller's is none of that type.
template <class Executor>
boost::asio::awaitable<void> run_on_own_executor(boost::asio::awaitable<void, Executor> work)
{
    namespace asio = boost::asio;
    auto const here = co_await asio::this_coro::executor;
    auto const beneath = beneath_strand(here);
    auto const own = own_executor_of<Executor>(beneath);
    auto const what = std::make_shared<asio::awaitable<void, Executor>>(std::move(work));
    begin_elsewhere begin = [what, own](asio::cancellation_slot slot, ended_elsewhere ended) {
        auto done = asio::bind_executor(own, std::move(ended));
        asio::co_spawn(own, std::move(*what), asio::bind_cancellation_slot(slot, std::move(done)));
    };
    auto end = await_elsewhere(beneath, std::move(begin));
    co_await std::move(end);
}

template <class T, class Executor>
boost::asio::awaitable<void, Executor> keep_result(
    std::shared_ptr<std::optional<T>> where, boost::asio::awaitable<T, Executor> work)
{
    where->emplace(co_await std::move(work));
}

/// The same, of one that returns something.
template <class T, class Executor>
boost::asio::awaitable<T> run_on_own_executor(boost::asio::awaitable<T, Executor> work)
{
    auto const said = std::make_shared<std::optional<T>>();
    auto kept = keep_result(said, std::move(work));
    auto end = run_on_own_executor(std::move(kept));
    co_await std::move(end);
    co_return std::move(**said);
}

} // namespace quern::detail
