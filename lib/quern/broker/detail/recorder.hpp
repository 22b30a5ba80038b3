#pragma once

#include <quern/broker/journal.hpp>

#include <string_view>

namespace quern::broker::detail {

class queue;
struct move_task;
struct stored_message;
struct sent_before;

/// Tells the journal, if there is one, what changed, and knows whether something waits for a commit.
class recorder {
public:
    void tell(journal* to) { to_ = to; }
    bool unsaved() const { return unsaved_; }
    [[nodiscard]] result<void> commit(engine_totals const&, wall_time now);

    void changed(queue const&);
    void emptied(queue const&);
    void gone(queue const&);
    void came(stored_message const&);
    void changed(stored_message const&);
    void left(stored_message const&);
    void changed(move_task const&);
    void gone(move_task const&);
    void sent(queue const&, std::string_view key, wall_time until, sent_before const&);

private:
    journal* noting(); ///< null: there is none; else it is told something, and owes a commit

    journal* to_ = nullptr;
    bool unsaved_ = false;
};

} // namespace quern::broker::detail
