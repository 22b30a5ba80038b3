#include <quern/relay/detail/turns.hpp>

namespace quern::relay::detail {

boost::asio::awaitable<void> turns::next(std::shared_ptr<turns> self)
{
    auto now = self->time_.now();
    if (self->line_.empty() && self->pace_.begin(now) == now) co_return;
    alarm bell(self->time_, self->ex_);
    place const here(*self, bell);
    for (;;) {
        std::optional<tick> until;
        if (self->line_.front() == &bell) {
            now = self->time_.now();
            until = self->pace_.begin(now);
            if (*until == now) co_return;
        }
        co_await bell.wait(until);
    }
}

} // namespace quern::relay::detail
