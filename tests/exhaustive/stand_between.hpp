#pragma once

#include <quern/consumer/detail/message/message_life.hpp>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace quern::test {

/// Defects that are planted between a rule and its callers; each is one that consumers have had.
enum class flaw {
    none,
    never_extends,
    extends_once,
    stops_extending, ///< as soon as it drains
    keeps_lost_leases,
    forgets_failed_deletes,
    forgets_failed_releases,
    forgets_failed_extensions,
    drops_releases,
    trusts_old_handles,
    believes_lost_deletes,
    believes_lost_releases,
    believes_lost_extensions,
    believes_lost_copies,
    gives_up_deletes,
    cancels_nobody,
    acks_without_lease,
    deletes_early_without_lease,
    overtakes_its_extension,
    forgets_it_was_released, ///< received again since its lease was lost, and judged by what its handler says
    says_deleted_at_once,
    counts_refusals_as_done,
    skips_the_copy,
};
inline constexpr std::size_t flaws = 23;

std::string_view name_of(flaw);

/// Stands between the rules of the consumer and those who call them: the linker puts it there (--wrap). Counts
/// the rows of message_life's table, and spoils an answer where a flaw is planted.
struct stand_between {
    using life = detail::message_life;
    using counts = std::array<std::array<std::uint64_t, life::events>, life::states>;

    static flaw planted;
    static counts rows;

    /// Rows of the table that nothing has come to.
    static std::vector<life::row> rows_not_reached();
};

} // namespace quern::test
