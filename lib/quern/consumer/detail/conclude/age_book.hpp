#pragma once

#include <quern/core/clock.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <list>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace quern::detail {

/// When this consumer stood back: it was paused, drained, or what a message needs was down. A message does not grow
/// older by that, since nobody tried it. Times are those of the service's clock, by which it tells a first receive.
///
/// Remembers the newest stretches only. What it has forgotten counts as time in which it stood back, all of it: a
/// message must not be rejected for an age that is not known.
class age_book {
public:
    static constexpr std::size_t most = 256;

    void begin(wall_time now); ///< stands back from now on; nothing where it does already
    void end(wall_time now);

    /// Stands back for that time, known beforehand: a message was put off for so long.
    void add(wall_time from, wall_time until);

    /// Remembers what that one does, which stands back no longer.
    void add(age_book const&);

    /// Knows nothing of the time before.
    void forget_until(wall_time when) { forgotten_ = std::max(forgotten_.value_or(when), when); }

    /// The end of all that it remembers; absent: nothing. A stretch that is not over ends at `now`.
    std::optional<wall_time> last(wall_time now) const;

    std::size_t size() const { return past_.size(); }

    /// How long of the time between the two was stood back, by any of the books.
    static std::chrono::milliseconds stood_back(
        wall_time from, wall_time until, std::initializer_list<age_book const*> books);

private:
    struct stretch {
        wall_time from, until;
    };
    std::vector<stretch> past_; // by time; none touches the next
    std::optional<wall_time> since_;
    std::optional<wall_time> forgotten_; // what was before
};

/// A book for each message, or group of messages, that was put off because it alone found something down, or waited
/// here for longer than that was down.
///
/// The one after the last place takes that of the one that was used longest ago. Of a message without a book nothing
/// is known from before the last stretch that was forgotten so.
class age_books {
public:
    static constexpr std::size_t most = 8'192;

    /// Its book, made where it has none.
    age_book& of(std::uint64_t who, wall_time now);
    age_book const& known(std::uint64_t who) const;

private:
    using line = std::list<std::pair<std::uint64_t, age_book>>;

    line by_use_; // the latest first
    std::unordered_map<std::uint64_t, line::iterator> books_;
    age_book none_; // of all others
};

} // namespace quern::detail
