#pragma once

#include <cstddef>
#include <vector>

namespace quern::detail {

/// A consumer that shares a limit of messages in flight with others.
struct sharer {
    std::size_t weight = 1;
    std::size_t most = 0;      ///< its own limit: it never gets more
    std::size_t limit = 0;     ///< in force
    std::size_t in_flight = 0; ///< messages
    std::size_t coming = 0;    ///< that its open receives may bring
    bool ending = false;       ///< it drains: it takes nothing more
};

using limits_of_all = std::vector<std::size_t>;

/// The shares by weight of who could use any number. Nobody gets nothing.
///
/// Requires  `all` is enough for one each.
limits_of_all fair_shares(std::size_t all, std::vector<sharer> const&);

/// The limits that there should be: whoever has reached its own gets what the others leave, by weight. Those keep
/// what they hold, and a quarter of their share for the next receive, ten places at most; what nobody needs is lent.
/// While nobody has reached its limit all stays as it is, until the fair shares would do.
limits_of_all wanted_limits(std::size_t all, std::vector<sharer> const&);

/// The limits that may be set now, on the way to the wanted ones: those that sink do so at once, those that rise take
/// what has come free, so that no more than `all` are ever in flight together.
///
/// Requires  limits that sink have sunk: what is in flight and coming was counted under them.
limits_of_all next_limits(std::size_t all, std::vector<sharer> const&, limits_of_all const& wanted);

} // namespace quern::detail
