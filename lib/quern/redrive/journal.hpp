#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>
#include <quern/redrive/event.hpp>
#include <quern/redrive/run_book.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::redrive {

/// Where a journal keeps its lines.
class journal_file {
public:
    virtual ~journal_file() = default;

    using piece_reader = std::function<result<void>(std::string_view)>;

    /// Shows all of it, piece by piece. The reader's failure ends it.
    [[nodiscard]] virtual result<void> read(piece_reader const&) = 0;

    /// Appends; what it has said is done outlasts the process and the machine.
    [[nodiscard]] virtual result<void> append(std::string_view) = 0;

    /// Keeps the first so many bytes.
    [[nodiscard]] virtual result<void> cut(std::size_t) = 0;

    /// Bytes that it had at least when something was appended last; 0: nobody knows.
    virtual std::size_t least_size() { return 0; }

    /// True once somebody has asked for the end of this run.
    virtual bool is_cancelled() = 0;

    /// Takes that back: it was carried out, comes too late, or was about an earlier run of this name.
    virtual void forget_cancel() = 0;
};

/// The book of a run, and the file in which its events are written down before they are carried out.
///
/// Threads  one strand. flush() blocks it for as long as the disk takes.
class journal {
public:
    /// Messages that are sent and deleted and still known, lest one that comes to light again is sent again: SQS may
    /// deliver what was just deleted. The earlier ones are forgotten.
    static constexpr std::size_t most_done = 20'000;

    /// Without a file: a run that ends with its process. Of what is done it knows nothing any more.
    journal() : book_(0) {}

    /// Reads what is there. The unfinished write of a process that was killed is cut away; see cut(). Fails when what
    /// was kept before is damaged or gone.
    [[nodiscard]] static result<journal> open(std::unique_ptr<journal_file>);

    run_book const& book() const { return book_; }
    std::size_t cut() const { return cut_; } ///< bytes

    /// Tells the book, and writes with the next flush(). Numbers the event, and sets its time to `now`. An event that
    /// cannot follow is a bug of the caller: the book does not have it, and the journal is broken. Then nothing is
    /// written any more, and the book goes on.
    std::uint64_t write(event, wall_time now);

    void expect(std::string_view id, wall_time at) { book_.expect(id, at); } ///< see run_book

    /// Keeps everything that was written. After a failure there is no further success.
    [[nodiscard]] result<void> flush();

    std::uint64_t flushed() const { return flushed_; } ///< id of the last event that is kept
    bool is_broken() const { return broken_.has_value(); }
    std::string why_broken() const { return broken_ ? describe(*broken_) : std::string(); }
    bool is_cancelled() { return file_ && file_->is_cancelled(); }

private:
    explicit journal(std::unique_ptr<journal_file> file) : file_(std::move(file)), book_(most_done) {}
    void forget_cancel();

    std::unique_ptr<journal_file> file_; // or none
    run_book book_;
    std::string pending_;
    std::uint64_t flushed_ = 0;
    std::size_t cut_ = 0;
    std::optional<failure> broken_;
};

/// Takes the only place of a writer of that journal, FOLDER/NAME.jsonl, and where a queue is named that of the only
/// run over it in this folder, which it makes; and opens the journal. FOLDER/NAME.size has its size. Fails while
/// another process has the place, and names it. The place is given up with the last journal_file, and with it a file
/// in which nothing was ever written.
[[nodiscard]] result<std::unique_ptr<journal_file>> open_journal_file(
    std::string const& folder, std::string const& name, std::string const& queue = {});

/// The text of that journal, for those who only read. Fails when it has been cut.
[[nodiscard]] result<std::string> read_journal_file(std::string const& folder, std::string const& name);

/// Attempts of messages whose copies had no room for them, by the ids that the copies got, from all journals of the
/// folder; none where there is no such folder. What is damaged is passed over.
[[nodiscard]] result<std::map<std::string, int, std::less<>>> counted_attempts(std::string const& folder);

/// How the run of that journal began, without reading what follows; nothing while it has not.
[[nodiscard]] result<std::optional<event>> read_journal_start(std::string const& folder, std::string const& name);

/// Fails when that journal is not there.
[[nodiscard]] result<void> find_journal_file(std::string const& folder, std::string const& name);

/// Names of the journals in the folder, in order.
[[nodiscard]] result<std::vector<std::string>> journal_names(std::string const& folder);

/// Asks whoever writes this journal to end the run for good.
[[nodiscard]] result<void> ask_to_cancel(std::string const& folder, std::string const& name);

/// 1 to 80 of A-Z a-z 0-9 - _ and dots, of which none is first.
bool is_journal_name(std::string_view);

} // namespace quern::redrive
