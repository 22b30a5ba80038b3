#pragma once

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <stdexcept>
#include <utility>

namespace quern::detail {

/// Frame of a coroutine that has to say what becomes of a message. Asio's own hands on whatever its memory holds when
/// a path of the coroutine falls off its end, of which g++ 12.2 does not warn; with this one it throws in whoever
/// awaits it.
template <class T>
class answer_frame : public boost::asio::detail::awaitable_frame_base<boost::asio::any_io_executor> {
public:
    template <class U>
    void return_value(U&& said)
    {
        said_.emplace(std::forward<U>(said));
    }

    T get()
    {
        caller_ = nullptr;
        rethrow_exception();
        if (!said_) throw std::logic_error("the coroutine ended without a co_return: a path of it falls off its end");
        return std::move(*said_);
    }

private:
    std::optional<T> said_;
};

} // namespace quern::detail
