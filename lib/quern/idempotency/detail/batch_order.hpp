#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace quern::idempotency::detail {

/// Order of work within a batch whose messages each have a key to claim. The handler is called in rounds:
///
///     a message                              |
///     asks the store for its key             | the next round waits for the answer
///     has the key of an earlier one          | asks when the earlier one has ended
///     waits for somebody else to be done     | no round waits for it; it is given back when all others have ended
///     has its key                            | is in the next round
class batch_order {
public:
    explicit batch_order(std::size_t messages) : all_(messages), active_(messages) {}

    /// Notes the key. False: an earlier message has the same, and this one asks when end() returns it.
    bool lines_up(std::size_t which, std::string const& key);

    /// Notes that somebody else has the key.
    void waits(std::size_t which) { put(which, place::waiting); }

    /// Notes that the key is claimed.
    void is_ready(std::size_t which) { put(which, place::ready); }

    /// Begins a round and returns its messages. None: somebody has to be waited for first.
    std::vector<std::size_t> begin_round();
    void end_round();

    /// Notes that the message has its outcome. Returns the message that followed it, which asks from now on.
    std::optional<std::size_t> end(std::size_t which);

    /// Tells whether a message may wait for somebody else: only where no other that is done would wait with it.
    bool may_wait(std::size_t which) const { return ended_ == 0 || active_ != (is_active(all_[which].at) ? 1u : 0u); }

    /// Messages that wait, and may not any more. Each is returned once.
    std::vector<std::size_t> overstaying();

    bool is_over() const { return ended_ == all_.size(); }

private:
    enum class place { asking, following, waiting, ready, running, settling, ended };
    struct message {
        place at = place::asking;
        std::optional<std::size_t> follower{};
        bool named = false; ///< by overstaying()
    };

    static bool is_active(place at) { return at != place::following && at != place::waiting && at != place::ended; }
    void put(std::size_t which, place);
    std::vector<std::size_t> those(place) const;

    std::vector<message> all_;
    std::map<std::string, std::size_t> last_of_; // by key
    std::size_t active_;                         // neither following, nor waiting, nor ended
    std::size_t asking_ = all_.size(), ready_ = 0, running_ = 0, ended_ = 0;
};

} // namespace quern::idempotency::detail
