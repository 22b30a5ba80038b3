#pragma once

#include <quern/core/clock.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace quern::test {

/// SQS, as far as the life of a message goes: a standard queue, whose every answer is a value.
struct queue_model {
    struct message {
        tick visible_at{};
        int receives = 0; ///< so many handles are there; the last of them is the newest
        int owner = -1;   ///< the process that has it
        int copies = 0;   ///< in the poison queue
        bool deleted = false;
        bool disturbed = false; ///< an older handle has changed how long it is hidden

        bool is_hidden(tick now) const { return !deleted && visible_at > now; }
        bool is_visible(tick now) const { return !deleted && visible_at <= now; }
    };

    std::vector<message> messages;
    bool refuses_old = false; ///< handles that are not the newest; else it obeys them, but deletes nothing

    void receive(std::size_t which, int by, tick now, std::chrono::seconds lease)
    {
        auto& m = messages[which];
        ++m.receives;
        m.owner = by;
        m.visible_at = now + lease;
        m.deleted = m.disturbed = false; // SQS may bring what was deleted
    }

    /// The error of the service, or empty.
    std::string remove(std::size_t which, int receive)
    {
        auto& m = messages[which];
        auto const is_old = receive != m.receives;
        if (m.deleted) return {};
        if (is_old) return refuses_old ? "ReceiptHandleIsInvalid" : "";
        m.deleted = true;
        return {};
    }

    std::string change(std::size_t which, int receive, tick now, std::chrono::seconds timeout)
    {
        auto& m = messages[which];
        auto const is_old = receive != m.receives;
        if (!m.is_hidden(now)) return "MessageNotInflight";
        if (is_old && refuses_old) return "ReceiptHandleIsInvalid";
        m.disturbed = m.disturbed || is_old;
        m.visible_at = now + timeout;
        return {};
    }
};

} // namespace quern::test
