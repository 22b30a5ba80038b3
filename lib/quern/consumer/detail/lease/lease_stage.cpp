#include <quern/consumer/detail/lease/lease_stage.hpp>
#include <quern/consumer/detail/settle/settle_stage.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace quern::detail {

std::optional<tick> lease_stage::turn(tick now)
{
    context_.leases.expect_wait(context_.turns.expected_wait());
    context_.leases.expect_extending(context_.time_to_change(context_.leases.short_ones()));
    auto plan = context_.leases.poll(now);
    for (auto& due : plan.extend) {
        if (due.what->life.is_extending())
            continue; // as its handler asked: two on the wire could overtake each other
        if (context_.hangs(*due.what, now)) {
            context_.log.write(log_level::warning, "handler hangs",
                std::string(due.what->message.id()) + ": it runs on after handler_timeout; its lease is left to end",
                now);
            continue;
        }
        auto const asked = due.what->asks ? due.what->asks->lease : std::chrono::seconds(0);
        settle_.extend(std::move(due.what), std::max(due.timeout, asked), now);
    }
    for (auto const& h : plan.lost)
        context_.carry_out(h, h->life.on(message_life::event::lease_lost), now);
    return plan.wake_at;
}

} // namespace quern::detail
