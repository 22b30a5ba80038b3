#pragma once

#include <quern/consumer/delivery.hpp>
#include <quern/consumer/outcome.hpp>

#include <boost/asio/awaitable.hpp>

#include <concepts>
#include <string_view>
#include <type_traits>
#include <utility>

namespace quern {

/// Results of a handler: awaitable<void>, awaitable<outcome>, void or outcome.
template <class R>
concept handler_result = std::same_as<R, boost::asio::awaitable<void>> ||
    std::same_as<R, boost::asio::awaitable<outcome>> || std::same_as<R, void> || std::same_as<R, outcome>;

/// A handler of text: of a body, or of what was unpacked from one. Wrappers as from_sns() hand it on.
template <class F>
concept text_handler = std::invocable<F&, std::string_view, delivery&> &&
    handler_result<std::invoke_result_t<F&, std::string_view, delivery&>>;

/// A handler of what `read` makes of a text; the value lives as long as the handler runs. See typed().
template <class Read, class Next>
class typed_handler {
public:
    using value = std::invoke_result_t<Read&, std::string_view>;
    using returned = std::invoke_result_t<Next&, value&, delivery&>;
    static_assert(handler_result<returned>,
        "a handler returns awaitable<void> or awaitable<quern::outcome>, or void or quern::outcome");

    typed_handler(Read read, Next next) : read_(std::move(read)), next_(std::move(next)) {}

    returned operator()(delivery& d) { return (*this)(d.body(), d); }
    returned operator()(std::string_view text, delivery& d)
    {
        if constexpr (std::same_as<returned, boost::asio::awaitable<void>> ||
            std::same_as<returned, boost::asio::awaitable<outcome>>) {
            return run(text, d);
        } else {
            auto made = read_(text);
            return next_(made, d);
        }
    }

private:
    returned run(std::string_view text, delivery& d)
    {
        auto made = read_(text);
        co_return co_await next_(made, d);
    }

    Read read_;
    Next next_;
};

/// A handler `next(value&, delivery&)` of what `read(std::string_view)` makes of the body. `read` throws parse_error
/// when it cannot; see consumer_options::on_malformed. What it returns may refer to the text, and to nothing else
/// that ends before.
///
///     quern::consumer c(io, url, quern::typed(read_number, [](int n, quern::delivery&) { add(n); }));
///
/// Lifetime  the object outlives what it has begun, as a lambda with captures does; the consumer keeps it.
/// Threads   as `next`; with several, both functions are called on several at once.
template <class Read, class Next>
auto typed(Read read, Next next)
{
    return typed_handler<Read, Next>(std::move(read), std::move(next));
}

} // namespace quern
