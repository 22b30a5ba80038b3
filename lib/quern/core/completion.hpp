#pragma once

#include <quern/core/error.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>

#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

namespace quern {

/// The way in which an operation that brings a T completes: void(error_code, T), where the code is zero or
/// operation_aborted. An operation that may fail for a reason of its own brings a result<T>: void(result<T>).
template <class T>
struct completion {
    using signature = void(boost::system::error_code, T);

    template <class Handler>
    static void tell(Handler& to, std::exception_ptr thrown, T value)
    {
        boost::system::error_code code;
        try {
            if (thrown) std::rethrow_exception(std::move(thrown));
        } catch (boost::system::system_error const& e) {
            code = e.code();
        }
        std::move(to)(code, std::move(value));
    }
};

template <class T>
struct completion<result<T>> {
    using signature = void(result<T>);

    template <class Handler>
    static void tell(Handler& to, std::exception_ptr thrown, result<T> said)
    {
        if (thrown) std::rethrow_exception(std::move(thrown));
        std::move(to)(std::move(said));
    }
};

namespace detail {

template <class Token>
inline constexpr bool is_default_token = std::is_same_v<std::decay_t<Token>, boost::asio::use_awaitable_t<>>;

/// Begins an operation of that object, as `make()` gives it, on a strand of the object's executor, and completes on
/// the executor that is associated with the token's handler; where there is none, on the object's.
template <class Object, class Make, class Token>
auto complete(Object& of, Make make, Token&& token)
{
    namespace asio = boost::asio;
    if constexpr (is_default_token<Token>) {
        (void)of;
        return make();
    } else {
        using T = typename decltype(make())::value_type;
        auto begin = [](auto handler, asio::any_io_executor ex, Make operation) {
            auto const strand = asio::make_strand(ex);
            auto const at = asio::get_associated_executor(handler, ex);
            auto const stop = std::make_shared<asio::cancellation_signal>(); // on the strand
            if (auto slot = asio::get_associated_cancellation_slot(handler); slot.is_connected()) {
                slot.assign([stop, strand](asio::cancellation_type how) {
                    asio::post(strand, [stop, how] { stop->emit(how); });
                });
            }
            auto end = [handler = std::move(handler), at, stop, work = asio::make_work_guard(at)](
                           std::exception_ptr thrown, T value) mutable {
                auto tell = [handler = std::move(handler), thrown = std::move(thrown), value = std::move(value),
                                work = std::move(work)]() mutable {
                    asio::get_associated_cancellation_slot(handler).clear();
                    completion<T>::tell(handler, std::move(thrown), std::move(value));
                };
                asio::dispatch(at, std::move(tell));
            };
            asio::co_spawn(strand, operation(), asio::bind_cancellation_slot(stop->slot(), std::move(end)));
        };
        return asio::async_initiate<Token, typename completion<T>::signature>(
            std::move(begin), token, asio::any_io_executor(of.get_executor()), std::move(make));
    }
}

} // namespace detail
} // namespace quern
