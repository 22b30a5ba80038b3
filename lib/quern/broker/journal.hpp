#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>
#include <quern/sqs/types.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quern::broker {

enum class message_state : std::uint8_t { delayed, visible, in_flight };

/// The part of a message that changes while it is in a queue.
struct message_progress {
    std::uint64_t number = 0; ///< distinct for every message of an engine
    std::uint64_t place = 0;  ///< among the messages of a queue: smaller comes first
    message_state state = message_state::visible;
    wall_time until{}; ///< delayed or in flight
    std::uint64_t receive = 0;
    wall_time first_received_at{};
    wall_time received_at{};
    int receive_count = 0;
    int receives_here = 0;
    bool changed = false;

    bool operator==(message_progress const&) const = default;
};

/// A message of a queue. The views are gone when the call that shows it returns.
struct message_record {
    message_progress progress;
    std::uint64_t queue = 0; ///< queue_record::number
    std::string_view id;     ///< a UUID
    std::string_view body;
    wall_time sent_at{};
    wall_time retained_from{};
    std::string_view trace_header, group_id, deduplication_id, sequence_number, source_arn;
    sqs::attribute_map const* attributes = nullptr; ///< null: none
};

struct queue_record {
    std::uint64_t number = 0; ///< distinct for every queue of an engine
    std::string arn;
    std::int64_t created_at = 0; ///< s since 1970, both
    std::int64_t modified_at = 0;
    sqs::string_map attributes; ///< those that can be set
    sqs::string_map tags;

    bool operator==(queue_record const&) const = default;
};

/// A send to a FIFO queue of which duplicates are recognised until then.
struct sent_record {
    std::uint64_t queue = 0;
    std::string_view key;
    wall_time until{};
    std::string_view message_id, sequence_number;
};

enum class task_state : std::uint8_t { running, cancelling, completed, cancelled, failed };

/// A move task, as far as it has come.
struct task_record {
    std::string id;
    std::string source_arn;
    std::string destination_arn; ///< empty: to the original sources
    std::optional<int> per_second;
    task_state status = task_state::running;
    std::size_t moved = 0;
    std::size_t to_move = 0; ///< what was there when it started
    std::string failure_reason;
    wall_time started_at{};

    bool operator==(task_record const&) const = default;
};

/// Key that receipt handles are written with. Whoever has it can make handles.
using receipt_key = std::array<std::uint8_t, 16>;

/// Counters and the secret of an engine.
struct engine_totals {
    std::uint64_t last_number = 0;     ///< never given again: handles of former runs name numbers
    std::uint64_t last_sequence = 0;   ///< of FIFO messages
    broker::receipt_key receipt_key{}; ///< zeros: none was kept

    bool operator==(engine_totals const&) const = default;
};

/// Place for what a journal has kept, in this order: the totals, all queues, their messages, what was sent, this one
/// by time, and the move tasks, the newest first. A failure ends the reading.
class journal_reader {
public:
    virtual ~journal_reader() = default;
    [[nodiscard]] virtual result<void> take(engine_totals const&) = 0;
    [[nodiscard]] virtual result<void> take(queue_record const&) = 0;
    [[nodiscard]] virtual result<void> take(message_record const&) = 0;
    [[nodiscard]] virtual result<void> take(sent_record const&) = 0;
    [[nodiscard]] virtual result<void> take(task_record const&) = 0;
};

/// Where an engine writes down what changes, so that another one can go on from there.
///
/// Changes  are told one by one as they happen, and count together, with the next commit() or never.
/// Errors   of a change come with the commit after it.
class journal {
public:
    virtual ~journal() = default;

    [[nodiscard]] virtual result<void> read(journal_reader&, wall_time now) = 0;

    virtual void queue_is(queue_record const&) = 0; ///< new, or changed
    virtual void queue_emptied(std::uint64_t queue) = 0;
    virtual void queue_gone(std::uint64_t queue) = 0; ///< with all that is in it

    virtual void message_came(message_record const&) = 0;
    virtual void message_is(message_progress const&) = 0;
    virtual void message_left(std::uint64_t number) = 0;

    virtual void was_sent(sent_record const&) = 0;

    virtual void task_is(task_record const&) = 0; ///< new, or changed
    virtual void task_gone(std::string_view id) = 0;

    /// Keeps all changes since the last commit, whatever happens to the process from now on.
    [[nodiscard]] virtual result<void> commit(engine_totals const&, wall_time now) = 0;
};

} // namespace quern::broker
