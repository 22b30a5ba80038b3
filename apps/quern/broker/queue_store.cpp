#include "broker/queue_store.hpp"

#include "broker/queue_rows.hpp"
#include "common/sqlite.hpp"

#include <fmt/core.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace quern::app {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t application = 0x51524e51; // "QRNQ" in the header of the file, so that no other is taken for it
constexpr std::int64_t version = 1;

// The body, which never changes, apart from what does: SQLite writes rows whole.
constexpr char const* schema = R"(
    CREATE TABLE totals (one INTEGER PRIMARY KEY, last_number INTEGER, last_sequence INTEGER, receipt_key INTEGER);
    CREATE TABLE queue (number INTEGER PRIMARY KEY, arn TEXT, created_at INTEGER, modified_at INTEGER, attributes BLOB,
        tags BLOB);
    CREATE TABLE message (number INTEGER PRIMARY KEY, queue INTEGER, id TEXT, sent_at INTEGER, retained_from INTEGER,
        rest BLOB, body BLOB);
    CREATE TABLE progress (number INTEGER PRIMARY KEY, place INTEGER, state INTEGER, until INTEGER, receive INTEGER,
        first_received_at INTEGER, received_at INTEGER, receive_count INTEGER, receives_here INTEGER, changed INTEGER);
    CREATE TABLE sent (queue INTEGER, key BLOB, until INTEGER, message_id TEXT, sequence_number TEXT,
        PRIMARY KEY (queue, key)) WITHOUT ROWID;)";

// Purging a queue must not read the messages of all others. Databases of before get it when they are opened. It costs
// a message 11 bytes and 2 us.
constexpr char const* index = "CREATE INDEX IF NOT EXISTS message_by_queue ON message (queue)";

// Databases of before get this one too. A task's number says how new it is.
constexpr char const* tasks = R"(
    CREATE TABLE IF NOT EXISTS task (number INTEGER PRIMARY KEY, id TEXT UNIQUE, source TEXT, destination TEXT,
        per_second INTEGER, state INTEGER, moved INTEGER, to_move INTEGER, reason TEXT, started_at INTEGER);)";

// Half a megabyte of pages: what is read is in the engine's memory already.
constexpr char const* cache = "PRAGMA cache_size = -512";

} // namespace

/// The statements, and the transaction that is open while something waits for a commit.
class queue_store::database {
public:
    explicit database(std::string const& path) : sql(path) {}

    /// Before anything is written.
    result<void> check(std::string const& path);

    void begin()
    {
        if (!std::exchange(open, true)) statements->begin.run();
    }

    struct all {
        explicit all(sqlite::connection& in)
            : begin(in, "BEGIN"), commit(in, "COMMIT"), totals(in, "REPLACE INTO totals VALUES (1, ?, ?, ?)"),
              queue(in, "REPLACE INTO queue VALUES (?, ?, ?, ?, ?, ?)"),
              empty_progress(in, "DELETE FROM progress WHERE number IN (SELECT number FROM message WHERE queue = ?)"),
              empty_messages(in, "DELETE FROM message WHERE queue = ?"),
              empty_sent(in, "DELETE FROM sent WHERE queue = ?"), gone(in, "DELETE FROM queue WHERE number = ?"),
              came(in, "REPLACE INTO message VALUES (?, ?, ?, ?, ?, ?, ?)"),
              is(in, "REPLACE INTO progress VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
              left_message(in, "DELETE FROM message WHERE number = ?"),
              left_progress(in, "DELETE FROM progress WHERE number = ?"),
              sent(in, "REPLACE INTO sent VALUES (?, ?, ?, ?, ?)"), forget(in, "DELETE FROM sent WHERE until <= ?"),
              task_is(in,
                  "INSERT INTO task (id, source, destination, per_second, state, moved, to_move, reason, started_at) "
                  "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET state = excluded.state, "
                  "moved = excluded.moved, reason = excluded.reason"),
              task_gone(in, "DELETE FROM task WHERE id = ?")
        {}
        sqlite::statement begin, commit, totals, queue, empty_progress, empty_messages, empty_sent, gone, came, is,
            left_message, left_progress, sent, forget, task_is, task_gone;
    };

    sqlite::connection sql;
    std::unique_ptr<all> statements;
    bool open = false;
    wall_time forgot_at{}; ///< when old notes of what was sent were last deleted
};

result<void> queue_store::database::check(std::string const& path)
{
    auto const wrong = [&](std::string const& why) {
        return failure(errc::invalid_option, fmt::format("--data: {} {}", path, why));
    };
    // The lock is kept from the first read on: nobody else has the file then, and no file of shared memory is needed.
    sql.run("PRAGMA locking_mode = EXCLUSIVE");
    auto const owner = sql.number("PRAGMA application_id");
    auto const found = sql.number("PRAGMA user_version");
    auto const tables = sql.number("SELECT count(*) FROM sqlite_schema");
    if (sql.error() == 0 && tables != 0 && owner != application)
        return wrong("is the database of another program; name another folder");
    if (sql.error() == 0 && tables != 0 && found != version) {
        return wrong(fmt::format(
            "has version {} of the tables, and this program knows version {}; name another folder", found, version));
    }
    sql.run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY");
    sql.run(cache);
    sql.run("BEGIN IMMEDIATE");
    if (tables == 0) {
        sql.run(schema);
        sql.run(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", application, version).c_str());
    }
    sql.run(index);
    sql.run(tasks);
    sql.run("COMMIT");
    switch (sql.error() & 0xff) {
    case SQLITE_OK: return {};
    case SQLITE_BUSY: return wrong("is in use: another broker has it; stop that one, or name another folder");
    case SQLITE_NOTADB: return wrong("is no SQLite database; name another folder, or move the file away");
    default: return wrong(fmt::format("cannot be used: {}", sql.message()));
    }
}

namespace {

/// Whatever the umask is: bodies and the key of receipt handles are nobody else's business. SQLite gives the files
/// beside a database its mode. A file that is there must not be opened for this: closing it would drop the lock that
/// another connection of this process has on it.
void make_private(std::string const& path)
{
    auto const made = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (made >= 0) ::close(made);
}

/// Does the same to files of before, which all could read. Where somebody else owns them they stay as they are.
void take_from_others(std::string const& path)
{
    for (auto const* const behind : {"", "-wal", "-shm"})
        [[maybe_unused]] auto const done = ::chmod((path + behind).c_str(), S_IRUSR | S_IWUSR);
}

} // namespace

result<std::unique_ptr<queue_store>> queue_store::open(std::string const& folder)
{
    std::error_code ec;
    if (!fs::is_directory(folder, ec) && fs::create_directories(folder, ec)) {
        fs::permissions(folder, fs::perms::owner_all, ec); // messages are nobody else's business
    }
    if (!fs::is_directory(folder, ec))
        return failure(errc::invalid_option, fmt::format("--data: {} is no folder, and cannot be made one", folder));
    auto const path = (fs::path(folder) / "queues.sqlite").string();
    make_private(path);
    auto db = std::make_unique<database>(path);
    auto const good = db->check(path);
    if (!good) return good.error();
    take_from_others(path);
    db->statements = std::make_unique<database::all>(db->sql);
    return std::unique_ptr<queue_store>(new queue_store(std::move(db)));
}

queue_store::queue_store(std::unique_ptr<database> db) : db_(std::move(db)) {}
queue_store::~queue_store() = default;

namespace {

/// Reads every row of an answer, and hands it on.
template <class Record, class Read>
result<void> each(sqlite::connection& sql, char const* question, broker::journal_reader& to, Read read)
{
    sqlite::statement rows(sql, question);
    while (rows.next()) {
        Record kept;
        read(rows, kept);
        if (auto const taken = to.take(kept); !taken) return taken;
    }
    return {};
}

void read_totals(sqlite::statement& row, broker::engine_totals& to)
{
    row.get(to.last_number, to.last_sequence);
    if (auto const key = row.bytes(); key.size() == to.receipt_key.size())
        std::memcpy(to.receipt_key.data(), key.data(), key.size());
}

void read_queue(sqlite::statement& row, broker::queue_record& to)
{
    row.get(to.number, to.arn, to.created_at, to.modified_at);
    to.attributes = unpacked(row.bytes());
    to.tags = unpacked(row.bytes());
}

void read_message(sqlite::statement& row, broker::message_record& to, sqs::attribute_map& attributes)
{
    auto& p = to.progress;
    row.get(p.number, p.place, p.state, p.until, p.receive, p.first_received_at, p.received_at, p.receive_count);
    row.get(p.receives_here, p.changed, to.queue, to.id, to.sent_at, to.retained_from);
    unpack_rest(row.bytes(), to, attributes);
    row.get(to.body);
}

void read_task(sqlite::statement& row, broker::task_record& to)
{
    row.get(to.id, to.source_arn, to.destination_arn);
    if (auto const rate = static_cast<int>(row.integer())) to.per_second = rate;
    auto const state = std::clamp<std::int64_t>(row.integer(), 0, int(broker::task_state::failed));
    to.status = static_cast<broker::task_state>(state);
    row.get(to.moved, to.to_move, to.failure_reason, to.started_at);
}

} // namespace

result<void> queue_store::read(broker::journal_reader& to, wall_time now)
{
    auto& sql = db_->sql;
    // Databases of before have a number there, of which no handle is good any more.
    auto good = each<broker::engine_totals>(sql,
        "SELECT last_number, last_sequence, CASE typeof(receipt_key) WHEN 'blob' THEN receipt_key ELSE x'' END "
        "FROM totals",
        to, read_totals);
    if (!good) return good;
    good = each<broker::queue_record>(sql,
        "SELECT number, arn, created_at, modified_at, attributes, tags FROM queue ORDER BY number", to, read_queue);
    if (!good) return good;
    sqs::attribute_map attributes;
    good = each<broker::message_record>(sql,
        "SELECT number, place, state, until, receive, first_received_at, received_at, receive_count, receives_here, "
        "changed, queue, id, sent_at, retained_from, rest, body FROM message JOIN progress USING (number)",
        to, [&](sqlite::statement& row, broker::message_record& kept) { read_message(row, kept, attributes); });
    if (!good) return good;
    db_->statements->forget.run(now);
    good = each<broker::sent_record>(sql,
        "SELECT queue, until, key, message_id, sequence_number FROM sent ORDER BY until", to,
        [](sqlite::statement& row, broker::sent_record& kept) {
            row.get(kept.queue, kept.until, kept.key, kept.message_id, kept.sequence_number);
        });
    if (!good) return good;
    good = each<broker::task_record>(sql,
        "SELECT id, source, destination, per_second, state, moved, to_move, reason, started_at FROM task "
        "ORDER BY number DESC",
        to, read_task);
    if (good && sql.error() != 0)
        return failure(errc::invalid_option, fmt::format("--data: the database cannot be read: {}", sql.message()));
    return good;
}

void queue_store::queue_is(broker::queue_record const& q)
{
    db_->begin();
    db_->statements->queue.run(q.number, q.arn, q.created_at, q.modified_at, packed(q.attributes), packed(q.tags));
}

void queue_store::queue_emptied(std::uint64_t queue)
{
    db_->begin();
    db_->statements->empty_progress.run(queue);
    db_->statements->empty_messages.run(queue);
    db_->statements->empty_sent.run(queue);
}

void queue_store::queue_gone(std::uint64_t queue)
{
    queue_emptied(queue);
    db_->statements->gone.run(queue);
}

void queue_store::message_came(broker::message_record const& m)
{
    db_->begin();
    db_->statements->came.run(m.progress.number, m.queue, m.id, m.sent_at, m.retained_from, packed_rest(m), m.body);
    message_is(m.progress);
}

void queue_store::message_is(broker::message_progress const& p)
{
    db_->begin();
    db_->statements->is.run(p.number, p.place, p.state, p.until, p.receive, p.first_received_at, p.received_at,
        p.receive_count, p.receives_here, p.changed);
}

void queue_store::message_left(std::uint64_t number)
{
    db_->begin();
    db_->statements->left_message.run(number);
    db_->statements->left_progress.run(number);
}

void queue_store::was_sent(broker::sent_record const& s)
{
    db_->begin();
    db_->statements->sent.run(s.queue, s.key, s.until, s.message_id, s.sequence_number);
}

void queue_store::task_is(broker::task_record const& t)
{
    db_->begin();
    db_->statements->task_is.run(t.id, t.source_arn, t.destination_arn, t.per_second.value_or(0), t.status, t.moved,
        t.to_move, t.failure_reason, t.started_at);
}

void queue_store::task_gone(std::string_view id)
{
    db_->begin();
    db_->statements->task_gone.run(id);
}

result<void> queue_store::commit(broker::engine_totals const& totals, wall_time now)
{
    db_->begin();
    std::string_view const key(reinterpret_cast<char const*>(totals.receipt_key.data()), totals.receipt_key.size());
    db_->statements->totals.run(totals.last_number, totals.last_sequence, key);
    if (now - db_->forgot_at >= std::chrono::minutes(1)) {
        db_->forgot_at = now;
        db_->statements->forget.run(now);
    }
    db_->statements->commit.run();
    db_->open = false;
    if (db_->sql.error() == 0) return {};
    return failure(
        errc::not_confirmed, fmt::format("--data: the database cannot be written: {}", db_->sql.message()));
}

} // namespace quern::app
