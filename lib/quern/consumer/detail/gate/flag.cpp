// The flag from outside: its reading, and what comes of it.

#include <quern/consumer/detail/gate/gate_stage.hpp>
#include <quern/core/detail/what_thrown.hpp>

#include <exception>

namespace quern::detail {

namespace asio = boost::asio;
using state = policy::detail::flag_rule::state;

void gate_stage::heed_flag(tick now)
{
    if (flag_.due(now)) context_.spawn(read_flag());
    auto const is = flag_.at(now);
    if (is == flag_was_) return;
    auto const as_usual = is == state::run && flag_was_ == state::unread;
    flag_was_ = is;
    follow(now);
    context_.wake.ring(); // for the intake, whose turn it was before
    auto const level = as_usual ? log_level::debug : is == state::run ? log_level::info : log_level::warning;
    context_.log.write(level, "flag", flag_.explain(now), now);
}

asio::awaitable<void> gate_stage::read_flag()
{
    result<policy::flag_reading> got = policy::flag_reading();
    try {
        got = co_await context_.options.outage.flag->source->read();
    } catch (...) {
        got = failure(errc::service_error, what_thrown(std::current_exception()));
    }
    if (context_.ending) co_return;
    auto const now = context_.now();
    if (flag_.read(got, now, context_.random)) // under a name of its own, to hide no change of state
        context_.log.write(log_level::warning, "flag reading", flag_.explain(now), now);
    context_.wake.ring();
}

} // namespace quern::detail
