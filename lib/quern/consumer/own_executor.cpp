#include <quern/consumer/own_executor.hpp>

#include <quern/core/detail/ask.hpp>
#include <quern/core/detail/compact_strand.hpp>

#include <boost/asio/post.hpp>

#include <stdexcept>

namespace quern::detail {

namespace asio = boost::asio;

asio::any_io_executor beneath_strand(asio::any_io_executor const& ex)
{
    auto const* const strand = ex.target<compact_strand>();
    return strand ? strand->inner() : ex;
}

void throw_no_such_executor()
{
    throw std::logic_error(
        "the handler's awaitable is of another executor type than the consumer's executor, or "
        "handler_executor: return boost::asio::awaitable<T>, or give the consumer such an executor");
}

asio::awaitable<void> await_elsewhere(asio::any_io_executor there, begin_elsewhere begin)
{
    auto const stop = std::make_shared<asio::cancellation_signal>(); // over there
    auto start = [there, stop, begin = std::move(begin)](question_ptr who) {
        asio::post(there, [stop, begin, who = std::move(who)]() mutable {
            begin(stop->slot(), [stop, who = std::move(who)](std::exception_ptr thrown) {
                if (who->take()) who->finish(std::move(thrown));
            });
        });
    };
    auto cancel = [there, stop] { asio::post(there, [stop] { stop->emit(asio::cancellation_type::terminal); }); };
    auto end = put_question(std::move(start), std::move(cancel));
    bool const answered = co_await std::move(end);
    if (!answered) throw boost::system::system_error(asio::error::operation_aborted);
}

} // namespace quern::detail
