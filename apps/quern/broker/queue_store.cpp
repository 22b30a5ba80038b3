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

result<void> queue_store::read(broker::journal_reader& to, wall_time now)
{
    auto& sql = db_->sql;
    // Databases of before have a number there, of which no handle is good any more.
    sqlite::statement totals(sql,
        "SELECT last_number, last_sequence, CASE typeof(receipt_key) WHEN 'blob' THEN "
        "receipt_key ELSE x'' END FROM totals");
    while (totals.next()) {
        broker::engine_totals kept;
        kept.last_number = static_cast<std::uint64_t>(totals.integer());
        kept.last_sequence = static_cast<std::uint64_t>(totals.integer());
        if (auto const key = totals.bytes(); key.size() == kept.receipt_key.size())
            std::memcpy(kept.receipt_key.data(), key.data(), key.size());
        if (auto const taken = to.take(kept); !taken) return taken.error();
    }
    sqlite::statement queues(
        sql, "SELECT number, arn, created_at, modified_at, attributes, tags FROM queue ORDER BY number");
    while (queues.next()) {
        broker::queue_record kept;
        kept.number = static_cast<std::uint64_t>(queues.integer());
        kept.arn = queues.bytes();
        kept.created_at = queues.integer();
        kept.modified_at = queues.integer();
        kept.attributes = unpacked(queues.bytes());
        kept.tags = unpacked(queues.bytes());
        if (auto const taken = to.take(kept); !taken) return taken.error();
    }
    sqlite::statement messages(sql,
        "SELECT number, place, state, until, receive, first_received_at, received_at, receive_count, receives_here, "
        "changed, queue, id, sent_at, retained_from, rest, body FROM message JOIN progress USING (number)");
    sqs::attribute_map attributes;
    while (messages.next()) {
        broker::message_record kept;
        auto& p = kept.progress;
        p.number = static_cast<std::uint64_t>(messages.integer());
        p.place = static_cast<std::uint64_t>(messages.integer());
        p.state = static_cast<broker::message_state>(messages.integer());
        p.until = time_of(messages.integer());
        p.receive = static_cast<std::uint64_t>(messages.integer());
        p.first_received_at = time_of(messages.integer());
        p.received_at = time_of(messages.integer());
        p.receive_count = static_cast<int>(messages.integer());
        p.receives_here = static_cast<int>(messages.integer());
        p.changed = messages.integer() != 0;
        kept.queue = static_cast<std::uint64_t>(messages.integer());
        kept.id = messages.bytes();
        kept.sent_at = time_of(messages.integer());
        kept.retained_from = time_of(messages.integer());
        unpack_rest(messages.bytes(), kept, attributes);
        kept.body = messages.bytes();
        if (auto const taken = to.take(kept); !taken) return taken.error();
    }
    db_->statements->forget.bind(stamp(now)).run();
    sqlite::statement sent(sql, "SELECT queue, until, key, message_id, sequence_number FROM sent ORDER BY until");
    while (sent.next()) {
        broker::sent_record kept;
        kept.queue = static_cast<std::uint64_t>(sent.integer());
        kept.until = time_of(sent.integer());
        kept.key = sent.bytes();
        kept.message_id = sent.bytes();
        kept.sequence_number = sent.bytes();
        if (auto const taken = to.take(kept); !taken) return taken.error();
    }
    sqlite::statement moving(sql,
        "SELECT id, source, destination, per_second, state, moved, to_move, reason, started_at FROM task "
        "ORDER BY number DESC");
    while (moving.next()) {
        broker::task_record kept;
        kept.id = moving.bytes();
        kept.source_arn = moving.bytes();
        kept.destination_arn = moving.bytes();
        if (auto const rate = static_cast<int>(moving.integer())) kept.per_second = rate;
        auto const state = std::clamp<std::int64_t>(moving.integer(), 0, int(broker::task_state::failed));
        kept.status = static_cast<broker::task_state>(state);
        kept.moved = static_cast<std::size_t>(moving.integer());
        kept.to_move = static_cast<std::size_t>(moving.integer());
        kept.failure_reason = moving.bytes();
        kept.started_at = time_of(moving.integer());
        if (auto const taken = to.take(kept); !taken) return taken.error();
    }
    if (sql.error() != 0)
        return failure(errc::invalid_option, fmt::format("--data: the database cannot be read: {}", sql.message()));
    return {};
}

void queue_store::queue_is(broker::queue_record const& q)
{
    db_->begin();
    auto const attributes = packed(q.attributes);
    auto const tags = packed(q.tags);
    auto& into = db_->statements->queue;
    into.bind(q.number).bind(q.arn).bind(q.created_at).bind(q.modified_at).bind(attributes).bind(tags).run();
}

void queue_store::queue_emptied(std::uint64_t queue)
{
    db_->begin();
    db_->statements->empty_progress.bind(queue).run();
    db_->statements->empty_messages.bind(queue).run();
    db_->statements->empty_sent.bind(queue).run();
}

void queue_store::queue_gone(std::uint64_t queue)
{
    queue_emptied(queue);
    db_->statements->gone.bind(queue).run();
}

void queue_store::message_came(broker::message_record const& m)
{
    db_->begin();
    auto const rest = packed_rest(m);
    auto& into = db_->statements->came;
    into.bind(m.progress.number).bind(m.queue).bind(m.id).bind(stamp(m.sent_at)).bind(stamp(m.retained_from));
    into.bind(rest).bind(m.body).run();
    message_is(m.progress);
}

void queue_store::message_is(broker::message_progress const& p)
{
    db_->begin();
    auto& into = db_->statements->is;
    into.bind(p.number).bind(p.place).bind(static_cast<int>(p.state)).bind(stamp(p.until)).bind(p.receive);
    into.bind(stamp(p.first_received_at)).bind(stamp(p.received_at)).bind(p.receive_count).bind(p.receives_here);
    into.bind(static_cast<int>(p.changed)).run();
}

void queue_store::message_left(std::uint64_t number)
{
    db_->begin();
    db_->statements->left_message.bind(number).run();
    db_->statements->left_progress.bind(number).run();
}

void queue_store::was_sent(broker::sent_record const& s)
{
    db_->begin();
    db_->statements->sent.bind(s.queue)
        .bind(s.key)
        .bind(stamp(s.until))
        .bind(s.message_id)
        .bind(s.sequence_number)
        .run();
}

void queue_store::task_is(broker::task_record const& t)
{
    db_->begin();
    auto& into = db_->statements->task_is;
    into.bind(t.id).bind(t.source_arn).bind(t.destination_arn).bind(t.per_second.value_or(0));
    into.bind(static_cast<int>(t.status)).bind(t.moved).bind(t.to_move).bind(t.failure_reason);
    into.bind(stamp(t.started_at)).run();
}

void queue_store::task_gone(std::string_view id)
{
    db_->begin();
    db_->statements->task_gone.bind(id).run();
}

result<void> queue_store::commit(broker::engine_totals const& totals, wall_time now)
{
    db_->begin();
    std::string_view const key(reinterpret_cast<char const*>(totals.receipt_key.data()), totals.receipt_key.size());
    db_->statements->totals.bind(totals.last_number).bind(totals.last_sequence).bind(key).run();
    if (now - db_->forgot_at >= std::chrono::minutes(1)) {
        db_->forgot_at = now;
        db_->statements->forget.bind(stamp(now)).run();
    }
    db_->statements->commit.run();
    db_->open = false;
    if (db_->sql.error() == 0) return {};
    return failure(
        errc::not_confirmed, fmt::format("--data: the database cannot be written: {}", db_->sql.message()));
}

} // namespace quern::app
