#include "redrive/flag_watch.hpp"

#include <boost/asio/co_spawn.hpp>

#include <exception>

namespace quern::app {

namespace asio = boost::asio;

flag_watch::flag_watch(asio::any_io_executor ex, policy::flag_options how, clock& time)
    : executor_(ex), source_(how.source), time_(time), rule_(how, time.now()), wake_(time, ex)
{}

asio::awaitable<void> flag_watch::begin()
{
    while (rule_.at(time_.now()) == policy::detail::flag_rule::state::unread) {
        co_await read();
        if (rule_.at(time_.now()) == policy::detail::flag_rule::state::unread)
            co_await wake_.wait(rule_.wake_at(time_.now()));
    }
    asio::co_spawn(executor_, go_on(shared_from_this()), [](std::exception_ptr bug) {
        if (bug) std::rethrow_exception(bug);
    });
}

void flag_watch::end()
{
    over_ = true;
    wake_.ring();
}

std::optional<std::string> flag_watch::halted() const
{
    auto const now = time_.now();
    if (!rule_.halts(now)) return {};
    return rule_.explain(now);
}

asio::awaitable<void> flag_watch::read()
{
    if (!rule_.due(time_.now())) co_return;
    result<policy::flag_reading> got = policy::flag_reading();
    try {
        got = co_await source_->read();
    } catch (std::exception const& thrown) {
        got = failure(errc::service_error, thrown.what());
    }
    rule_.read(got, time_.now(), random_);
}

/// `self`: keeps it.
asio::awaitable<void> flag_watch::go_on([[maybe_unused]] std::shared_ptr<flag_watch> self)
{
    while (!over_) {
        co_await read();
        if (!over_) co_await wake_.wait(rule_.wake_at(time_.now()));
    }
}

} // namespace quern::app
