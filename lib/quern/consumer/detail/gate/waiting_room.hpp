#pragma once

#include <quern/consumer/gate.hpp>
#include <quern/core/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace quern::detail {

/// Messages that wait here while what they need is ill. Where there is no place for one more, the one with the most
/// receives left gives way.
class waiting_room {
public:
    struct guest {
        std::uint64_t number;
        std::string key;
        int receives_left;
        tick due;
    };

    void set_places(std::size_t n) { places_ = n; }
    bool has_places() const { return places_ != 0; }

    /// Adds a message. Returns the one that has to leave for it, perhaps itself. A message whose next receive is its
    /// last gives its place only to one with fewer receives left.
    std::optional<guest> add(guest one);

    /// The one that is due first.
    guest const* first() const { return by_due_.empty() ? nullptr : &guests_.at(by_due_.begin()->second); }
    guest take(std::uint64_t number);
    void put_off(std::uint64_t number, tick due);

    /// The guests with that key are due now, in the order of their numbers; null: all.
    void hurry(std::string const* key, tick now);

    std::size_t size() const { return guests_.size(); }

    /// All places are taken by messages that may not go back.
    bool is_full_of_last_chances() const { return guests_.size() >= places_ && near_last_receive_ >= places_; }

    /// A message that may not go back often: its next receive is the last, or this one.
    static bool is_near_last_receive(int receives_left) { return receives_left <= 1; }

private:
    std::size_t places_ = 0;
    std::map<std::uint64_t, guest> guests_;
    std::set<std::pair<tick, std::uint64_t>> by_due_;
    std::set<std::pair<int, std::uint64_t>> by_left_; // receives, number
    std::size_t near_last_receive_ = 0;
};

} // namespace quern::detail
