#pragma once

#include <quern/core/clock.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <unordered_map>
#include <vector>

namespace quern::detail {

/// When this consumer stood back: it was paused, drained, or what a message needs was down. A message does not grow
/// older by that, since nobody tried it. Times are those of the service's clock, by which it tells a first receive.
///
/// Remembers the newest stretches only; an older one counts as time in which the message might have been tried.
class age_book {
public:
    static constexpr std::size_t most = 256;

    void begin(wall_time now); ///< stands back from now on; nothing where it does already
    void end(wall_time now);

    /// Stands back for that time, known beforehand: a message was put off for so long.
    void add(wall_time from, wall_time until);

    /// Remembers what that one does, which stands back no longer.
    void add(age_book const&);

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
};

/// A book for each message, or group of messages, that was put off because it alone found something down, or waited
/// here for longer than that was down. There are few: an outage has a book of its own.
class age_books {
public:
    static constexpr std::size_t most = 8'192;

    /// Its book, made where it has none; the one after the last place has all others forgotten.
    age_book& of(std::uint64_t who);
    age_book const& known(std::uint64_t who) const;

private:
    std::unordered_map<std::uint64_t, age_book> books_;
    age_book const none_{};
};

} // namespace quern::detail
