#include <quern/aws/detail/question.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>

namespace quern::aws::detail {

namespace asio = boost::asio;

asio::awaitable<result<shared_credentials>> answer_to(
    std::shared_ptr<question> asked, std::chrono::milliseconds& left)
{
    auto const done = [asked](std::exception_ptr thrown, result<shared_credentials> found) {
        asked->thrown = thrown;
        asked->answer = std::move(found);
        asked->answered.ring();
    };
    auto const since = asked->time.now();
    asio::co_spawn(asked->ex, asked->of->get(), asio::bind_cancellation_slot(asked->cancel.slot(), done));
    auto const deadline = since + std::clamp<std::chrono::milliseconds>(left, {}, longest_wait);
    co_await asked->answered.wait(deadline);
    if (asked->thrown) std::rethrow_exception(asked->thrown);
    left -= std::chrono::round<std::chrono::milliseconds>(asked->time.now() - since);
    if (asked->answer) co_return std::move(*asked->answer);
    asked->cancel.emit(asio::cancellation_type::terminal);
    auto const state = co_await asio::this_coro::cancellation_state;
    bool const is_cancelled = state.cancelled() != asio::cancellation_type::none;
    if (is_cancelled) co_return failure(errc::stopped, "cancelled while waiting for credentials");
    co_return no_answer_in_time();
}

} // namespace quern::aws::detail
