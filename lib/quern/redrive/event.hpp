#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace quern::redrive {

/// A fact in the history of a run, or a decision. Named in text as Step Functions names its like.
enum class event_kind {
    started,     ///< ExecutionStarted
    resumed,     ///< ExecutionRedriven
    planned,     ///< ChoiceStateExited: what is to become of a message
    waiting,     ///< WaitStateEntered: it stays in the queue until it is due
    sending,     ///< TaskScheduled: written before the request
    sent,        ///< TaskSucceeded
    send_failed, ///< TaskFailed
    deleted,     ///< MapIterationSucceeded: out of the dead-letter queue
    left,        ///< MapIterationFailed: it stays there
    succeeded,   ///< ExecutionSucceeded
    stopped,     ///< ExecutionFailed: a rule, or a refusal for good, ended the run; it can be resumed
    cancelled,   ///< ExecutionAborted
};

/// "ExecutionStarted"
std::string_view name_of(event_kind);

/// A line of a journal. A kind uses the members that its comment names; the others are empty.
struct event {
    static constexpr int current_version = 1;

    event_kind kind = event_kind::started;
    std::uint64_t id = 0;       ///< 1, 2, 3, …
    std::uint64_t previous = 0; ///< the last one of the same message, or of the run itself; 0: none
    wall_time at{};
    std::string message{}; ///< its id in the dead-letter queue; empty: it is about the run

    std::string queue{};      ///< started: the dead-letter queue; planned and sending: where the message goes
    std::string input{};      ///< started: the settings, as whoever made them wrote them
    int version = 0;          ///< started: of the journal
    std::string decision{};   ///< planned: send, isolate or skip
    int attempt = 0;          ///< planned; sent: of a copy that has no room for it
    std::string reason{};     ///< planned, send_failed, left, stopped, cancelled, deleted
    std::string key{};        ///< sending: the deduplication id, on a FIFO queue
    bool maybe_twice = false; ///< sending: an earlier one may have succeeded. send_failed: this one may have
    bool in_doubt = false;    ///< send_failed: likewise, and the queue takes no second one for some minutes
    wall_time due{};          ///< started: by the service's clock. planned, waiting: not before. Epoch: at once
    wall_time hidden_until{}; ///< waiting: when the message can be received again
    std::string handle{};     ///< waiting: makes it visible before
    std::string new_id{};     ///< sent: the id that the next queue gave it
    std::string sequence{};   ///< sent: likewise its sequence number
};

/// One line of JSON, with its line feed. Its last member is a checksum of what stands before.
std::string to_line(event const&);

/// Reads such a line, without its line feed. Fails with errc::bad_reply when it is not whole, and with
/// errc::invalid_option when it is whole and of a kind or version that is not known here.
[[nodiscard]] result<event> parse_event(std::string_view line);

/// Extent of the text of a journal.
struct journal_extent {
    std::size_t whole = 0; ///< bytes up to the end of the last whole line
    std::size_t torn = 0;  ///< bytes after it: a write that was not finished
};

/// Failure of a journal of which so many bytes are whole where it had at least so many.
std::optional<failure> shorter_than(std::size_t least, std::size_t whole);

/// Reads the text of a journal piece by piece and shows each event to `take`, whose failure ends the reading. A line
/// that is not whole is the end, unless a whole one follows: then the file was damaged, and nothing is cut.
class event_reader {
public:
    explicit event_reader(std::function<result<void>(event&&)> take) : take_(std::move(take)) {}

    [[nodiscard]] result<void> read(std::string_view piece);
    [[nodiscard]] result<journal_extent> end();

    std::size_t held() const { return begun_.size(); } ///< bytes of the line that is not at its end

private:
    [[nodiscard]] result<void> read_line(std::string_view line);

    std::function<result<void>(event&&)> take_;
    std::string begun_;
    std::size_t lines_ = 0, read_ = 0; // read_: bytes of these
    std::optional<std::size_t> bad_line_;
    journal_extent found_;
};

/// Reads all of it.
[[nodiscard]] result<journal_extent> read_events(
    std::string_view text, std::function<result<void>(event&&)> const& take);

} // namespace quern::redrive
