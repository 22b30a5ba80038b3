#pragma once

#include <quern/core/clock.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace quern::services::detail {

/// Decides when an ECS task asks for protection and gives it up, and which handlers wait for the answer.
class protection_rule {
public:
    using duration = std::chrono::milliseconds;
    struct limits {
        duration expires, patience, linger;
    };
    enum class step { nothing, protect, release };
    enum class answer {
        done,
        refused, ///< and nothing has changed
        silent,  ///< perhaps it was done
    };

    explicit protection_rule(limits const& l) : limits_(l) {}

    void began(tick now); ///< a handler, which may have to wait
    void ended(tick now);
    void heard(tick now);  ///< the agent has answered some question
    void finish(tick now); ///< what protection there is goes at once

    /// The question that is to be asked now; one at a time.
    step poll(tick now);
    void answered(answer, tick now);

    /// End of a handler's wait for the answer, once it has begun; absent: it does not wait.
    std::optional<tick> wait_until(tick now);

    /// When time alone has a question asked.
    std::optional<tick> wake_at() const;

    bool is_on() const { return on_; }

private:
    limits const limits_;
    std::size_t running_ = 0;
    tick busy_since_{}, idle_since_{};
    step asked_ = step::nothing;
    tick asked_at_{};
    bool on_ = false, perhaps_on_ = false;
    tick renew_at_{};
    bool answers_ = false; // in time
    bool over_ = false;
    int failures_ = 0; // in a row
    tick not_before_{};
};

/// The agent's answer, read. `why`: of a refusal.
struct protection_reply {
    protection_rule::answer what;
    std::string why;
};
protection_reply read_protection_reply(int status, std::string_view body, bool asked_for);

} // namespace quern::services::detail
