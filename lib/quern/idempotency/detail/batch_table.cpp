#include <quern/idempotency/detail/batch_table.hpp>
#include <quern/idempotency/detail/claim_lease.hpp>

#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <utility>

namespace quern::idempotency::detail {

using namespace quern::detail;
namespace asio = boost::asio;

batch_table::batch_table(clock& c, asio::any_io_executor ex, deliveries messages)
    : time(c), on(std::move(ex)), news(time, on), order(messages.size())
{
    for (delivery& d : messages)
        all.emplace_back(d);
}

void batch_table::cancel()
{
    for (auto& one : all)
        one.cancel.emit(asio::cancellation_type::terminal);
    for (auto& one : rounds)
        one.emit(asio::cancellation_type::terminal);
}

std::vector<std::size_t> batch_table::begin_round(bool called_off)
{
    auto which = order.begin_round();
    if (which.empty()) return which;
    auto const begins = [&](std::size_t one) { return !called_off && !is_lease_over(all[one].d); };
    auto const others = std::stable_partition(which.begin(), which.end(), begins);
    for (auto other = others; other != which.end(); ++other)
        all[*other].handler_ended.tell(release().telling(outcome::news::none));
    which.erase(others, which.end());
    if (which.empty()) order.end_round();
    return which;
}

void batch_table::wake()
{
    for (auto const one : order.overstaying())
        all[one].bell->ring();
    news.ring();
}

void batch_table::end(std::size_t which)
{
    if (auto const next = order.end(which)) all[*next].bell->ring();
    wake();
}

alarm& batch_seat::bell() const
{
    auto& out = at_.all[which_].bell;
    if (!out) out = std::make_unique<alarm>(at_.time, at_.on);
    return *out;
}

asio::awaitable<void> batch_seat::sleep(std::optional<tick> until) const
{
    co_await bell().wait(until);
    auto const state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none)
        throw boost::system::system_error(asio::error::operation_aborted);
}

asio::awaitable<void> batch_seat::line_up(std::string const& key) const
{
    bool const is_first = at_.order.lines_up(which_, key);
    if (is_first) co_return;
    std::optional<tick> const never;
    bell(); // for whoever rings before it sleeps
    at_.wake();
    co_await sleep(never);
}

asio::awaitable<void> batch_seat::wait(tick until) const
{
    bell(); // for whoever rings before it sleeps
    at_.order.waits(which_);
    at_.wake();
    co_await sleep(until);
}

asio::awaitable<outcome> batch_seat::handled(receipt& left) const
{
    auto const sit_down = [this](asker<outcome> who) {
        at_.all[which_].handler_ended = std::move(who);
        at_.order.is_ready(which_);
        at_.wake();
    };
    auto said = co_await ask<outcome>(sit_down);
    left = std::move(at_.all[which_].left);
    co_return said;
}

} // namespace quern::idempotency::detail
