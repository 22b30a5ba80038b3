#pragma once

#include <quern/broker/journal.hpp>

#include <memory>
#include <string>

namespace quern::app {

/// Queues and messages in an SQLite database, DIR/queues.sqlite.
///
/// A commit is on the disk when it returns (WAL, synchronous = FULL): what was answered survives the end of the
/// process and of the power. The database is this process's alone until the object goes.
class queue_store final : public broker::journal {
public:
    /// Makes the folder and the database when there are none.
    ///
    /// Fails with  errc::invalid_option  another process has it, it is no database or that of another program or of
    ///                                   another version of this one, or cannot be read or written
    static result<std::unique_ptr<queue_store>> open(std::string const& folder);
    ~queue_store() override;

    result<void> read(broker::journal_reader&, wall_time now) override;
    void queue_is(broker::queue_record const&) override;
    void queue_emptied(std::uint64_t queue) override;
    void queue_gone(std::uint64_t queue) override;
    void message_came(broker::message_record const&) override;
    void message_is(broker::message_progress const&) override;
    void message_left(std::uint64_t number) override;
    void was_sent(broker::sent_record const&) override;
    void task_is(broker::task_record const&) override;
    void task_gone(std::string_view id) override;
    result<void> commit(broker::engine_totals const&, wall_time now) override;

private:
    class database;
    explicit queue_store(std::unique_ptr<database>);
    std::unique_ptr<database> db_;
};

} // namespace quern::app
