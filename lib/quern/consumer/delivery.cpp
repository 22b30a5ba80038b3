#include <quern/consumer/delivery.hpp>
#include <quern/consumer/detail/message/held.hpp>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace quern {

namespace asio = boost::asio;

namespace {

/// `ask` hands an answer to the keeper; the caller goes on where it was.
template <class Ask>
asio::awaitable<result<void>> answer_of(Ask ask)
{
    auto start = [ask = std::move(ask)](auto caller) mutable {
        auto const work = asio::make_work_guard(asio::get_associated_executor(caller));
        auto const resume = std::make_shared<decltype(caller)>(std::move(caller));
        ask([resume, work](result<void> said) {
            asio::post(work.get_executor(), [resume, said = std::move(said)] { std::move (*resume)(said); });
        });
    };
    return asio::async_initiate<asio::use_awaitable_t<> const, void(result<void>)>(
        std::move(start), asio::use_awaitable);
}

} // namespace

asio::awaitable<result<void>> delivery::ask_ack()
{
    return answer_of([this](keeper::reply tell) {
        if (keeper_)
            keeper_->ask_ack(*held_, std::move(tell));
        else
            tell({});
    });
}

asio::awaitable<result<void>> delivery::ask_extend(std::chrono::seconds at_least)
{
    return answer_of([this, at_least](keeper::reply tell) {
        if (keeper_)
            keeper_->ask_extend(*held_, at_least, std::move(tell));
        else
            tell({});
    });
}

asio::awaitable<result<void>> delivery::ask_guard(std::shared_ptr<lease_guard> guard)
{
    return answer_of([this, guard = std::move(guard)](keeper::reply tell) mutable {
        if (keeper_)
            keeper_->ask_guard(*held_, std::move(guard), std::move(tell));
        else
            tell({});
    });
}

asio::any_io_executor delivery::get_executor() const
{
    return keeper_ ? keeper_->get_executor() : asio::any_io_executor(asio::system_executor());
}

} // namespace quern
