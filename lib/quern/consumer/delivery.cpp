#include <quern/consumer/delivery.hpp>
#include <quern/consumer/detail/message/held.hpp>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace quern {

namespace asio = boost::asio;

std::shared_ptr<void const> delivery::kept() const
{
    return held_ ? std::make_shared<detail::held_ptr>(held_) : nullptr;
}

/// The caller goes on where it was.
asio::awaitable<result<void>> delivery::ask(wish what, std::shared_ptr<void const> kept)
{
    auto start = [this, kept = std::move(kept), what = std::move(what)](auto caller) mutable {
        auto const work = asio::make_work_guard(asio::get_associated_executor(caller));
        auto const resume = std::make_shared<decltype(caller)>(std::move(caller));
        auto tell = [resume, work](result<void> said) {
            asio::post(work.get_executor(), [resume, said = std::move(said)] { std::move (*resume)(said); });
        };
        if (keeper_)
            keeper_->ask(*held_, std::move(what), std::move(tell));
        else
            tell({});
    };
    return asio::async_initiate<asio::use_awaitable_t<> const, void(result<void>)>(
        std::move(start), asio::use_awaitable);
}

asio::any_io_executor delivery::get_executor() const
{
    return keeper_ ? keeper_->get_executor() : asio::any_io_executor(asio::system_executor());
}

} // namespace quern
