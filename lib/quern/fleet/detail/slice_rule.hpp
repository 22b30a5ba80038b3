#pragma once

#include <quern/core/clock.hpp>
#include <quern/fleet/budget.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::fleet::detail {

/// The item as read: a text for each process, and a number that every write changes by which a slice grows.
struct item_state {
    std::map<std::string, std::string> members;
    std::int64_t version = 0; ///< zero: there is none yet
};

/// A conditional write. It holds while this process's text, and those of the buried, are what was read; and the
/// version, where a slice grows.
struct item_write {
    std::string was;                                         ///< empty: there was none
    std::string becomes;                                     ///< empty: removed
    std::optional<std::int64_t> version;                     ///< as read; the write makes it one more
    std::vector<std::pair<std::string, std::string>> buried; ///< whose texts are removed, and what they were
};

std::string to_text(member const&);
/// Nothing where it is no text of a process.
std::optional<member> member_from(std::string name, std::string_view text);

/// The shares of `all` for these wishes, in their order, together `all`: nobody waits for what another leaves. A wish
/// of -1 is for as much as there is.
std::vector<std::int64_t> share_out(std::int64_t all, std::vector<std::int64_t> const& wishes);

/// The slice that one process of a fleet may use.
///
/// The item holds what every process may use at most, and never more than the budget together. A slice that shrinks
/// is used no more before that is written; one that grows is used once that is confirmed, and the write of it holds
/// only if no other grew meanwhile. So the slices in use never exceed the budget, whatever order writes arrive in,
/// and nobody waits for anybody.
///
/// No clock is compared with another's. A process lives while its text changes, as seen by readings of this process;
/// one that was silent for six seconds of such readings is buried, and its slice is free. Time in which nothing
/// could be read counts for nothing. A process that stood still itself uses nothing until a write of its own is
/// confirmed. While the service does not answer, each keeps its slice.
///
/// Threads  one strand.
class slice_rule {
public:
    static constexpr std::chrono::milliseconds beat_every{1'500};   ///< at the next reading: every second one
    static constexpr std::chrono::milliseconds silent_after{6'000}; ///< three readings that fail in a row are borne
    static constexpr std::chrono::milliseconds still_after{5'000};  ///< sooner than others give it up
    static constexpr std::chrono::milliseconds read_gap{1'500};     ///< that counts at most as silence

    slice_rule(std::string name, amounts all) : name_(std::move(name)), all_(all) {}

    /// Call it before each reading, and often.
    void wake(tick now);

    /// The item was read: the write to be made, if any.
    std::optional<item_write> read(item_state const&, usage const&, tick now);

    /// The write was carried out.
    void written(tick now);

    /// The write was refused, because the item had changed: this is how it stands.
    void refused(item_state const&);

    /// A reading or a write failed: the service is not there.
    void failed() { fails_ = true; }

    /// Removes this process from the item, and ends the use of its slice.
    std::optional<item_write> leave();

    /// Slice in use now.
    amounts slice() const { return in_use_; }

private:
    struct sight { // of another process
        std::string text;
        std::chrono::nanoseconds silent{};
    };

    void watch(item_state const&, tick now);
    void take_up(item_state const&, tick now);
    bool stood_still(tick now) const { return !fails_ && confirmed_at_ && now - *confirmed_at_ > still_after; }
    void learn_wish(usage const&);
    amounts target(std::vector<member> const& living) const;

    std::string const name_;
    amounts const all_;
    amounts in_use_;
    amounts wanted_; // as decided last; its slice may be larger while handlers run on
    amounts wish_{-1, -1};
    std::int64_t beat_ = 0;
    std::string was_;               // this process's text as read last; empty: none
    std::optional<member> mine_;    // the same
    std::optional<member> pending_; // of a write under way
    std::optional<tick> read_at_, confirmed_at_;
    bool fails_ = false;
    int sated_ = 0;   // readings in a row at which less was used than might have been
    double peak_ = 0; // messages a second in these
    std::map<std::string, sight> others_;
};

} // namespace quern::fleet::detail
