#include <quern/consumer/detail/drain.hpp>

#include <utility>

namespace quern::detail {

drain::step drain::next(state const& now_held, tick now)
{
    if (now_held.polls + now_held.held == 0) return step::end;
    auto const stuck = now_held.polls == 0 && now_held.held == now_held.waiting;
    if ((stuck || now >= cancel_at_) && !std::exchange(cancelled_, true)) return step::cancel; // however late
    return now < end_at_ ? step::wait : step::end;
}

} // namespace quern::detail
