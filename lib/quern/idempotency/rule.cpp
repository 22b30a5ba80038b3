#include <quern/idempotency/rule.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace quern::idempotency {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

bool has_expired(record const& row, wall_time now)
{
    return std::chrono::floor<seconds>(row.expires) < std::chrono::floor<seconds>(now);
}

bool claim_is_over(record const& row, wall_time now)
{
    if (row.is != record::state::in_progress || !row.in_progress_until) return false;
    return std::chrono::floor<milliseconds>(*row.in_progress_until) < std::chrono::floor<milliseconds>(now);
}

} // namespace

bool is_free(record const* row, wall_time now)
{
    return !row || has_expired(*row, now) || claim_is_over(*row, now);
}

std::string_view name_of(claim_kind k)
{
    static constexpr std::array<std::string_view, 5> names{
        "claimed", "taken_over", "completed", "in_progress", "mismatch"};
    return names.at(static_cast<std::size_t>(k));
}

claim_verdict judge_claim(record const* row, claim_wish const& mine, wall_time now)
{
    if (!row || has_expired(*row, now)) return {};
    if (row->is == record::state::in_progress) {
        if (!row->owner.empty() && row->owner == mine.owner) return {};
        if (claim_is_over(*row, now)) return {claim_kind::taken_over, {}};
        auto const end = row->in_progress_until ? std::min(*row->in_progress_until, row->expires + seconds(1))
                                                : row->expires + seconds(1);
        return {claim_kind::in_progress, end};
    }
    bool const both = !row->validation.empty() && !mine.validation.empty();
    return {both && row->validation != mine.validation ? claim_kind::mismatch : claim_kind::completed, {}};
}

write_kind judge_refusal(record const* row, std::string_view owner)
{
    if (!row) return write_kind::gone;
    if (!row->owner.empty() && row->owner == owner) return write_kind::done;
    return row->is == record::state::completed ? write_kind::superseded : write_kind::lost;
}

bool is_mine(record const* row, std::string_view owner)
{
    return row && row->is == record::state::in_progress && !row->owner.empty() && row->owner == owner;
}

std::optional<milliseconds> wait_rule::next_look(
    wall_time now, wall_time until, milliseconds waited, bool last_receive) const
{
    constexpr milliseconds first{250}, most{5'000};
    auto const rest = std::max(std::chrono::ceil<milliseconds>(until - now) + milliseconds(2), milliseconds(2));
    if (!last_receive && waited + std::min(rest, first) > longest) return {};
    // It may be completed long before its claim ends; each look costs a write.
    auto const pause = std::clamp(waited, first, most);
    return std::min(rest, pause);
}

/// Random bits are the system's each time, since two processes that were one must not share a name. (A
/// std::random_device asks the processor for its features whenever one is made, 15 us in a virtual machine.)
std::string new_owner()
{
    static constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    std::array<unsigned char, 22> random{};
    if (::getentropy(random.data(), random.size()) != 0)
        throw std::system_error(errno, std::generic_category(), "getentropy");
    std::string out;
    for (auto const byte : random)
        out.push_back(digits[byte & 63]);
    return out;
}

} // namespace quern::idempotency
