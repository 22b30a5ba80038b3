#include "quern/broker/queue_store.hpp"
#include "quern/common/sqlite.hpp"

#include "broker/service.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <tuple>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

using namespace quern;
using namespace quern::app;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

namespace fs = std::filesystem;

struct folder {
    fs::path path = [] {
        auto const* const where = std::getenv("QUERN_TMP_DIR");
        auto text = (where ? fs::path(where) : fs::temp_directory_path()) / "store-XXXXXX";
        auto name = text.string();
        BOOST_REQUIRE(::mkdtemp(name.data()));
        return fs::path(name);
    }();
    ~folder() { fs::remove_all(path); }

    std::string file() const { return path / "queues.sqlite"; }
    std::unique_ptr<queue_store> open() const { return queue_store::open(path).value(); }
    std::string complaint() const
    {
        auto const opened = queue_store::open(path);
        return opened ? "none" : opened.error().message;
    }
    void run(char const* sql) const
    {
        sqlite::connection db(file());
        db.run(sql);
        BOOST_REQUIRE(db.error() == 0);
    }
};

/// A process on a store.
struct process {
    std::unique_ptr<queue_store> store;
    service with; // after the store, of which it speaks

    explicit process(folder const& in, broker::instant now = broker::instant(std::chrono::seconds(1'700'000'000)))
        : store(in.open())
    {
        with.now = now;
        with.engine.keep_in(*store, now).value();
    }
    void save() { with.engine.save().value(); }
};

/// No file may grow beyond some pages: writing fails as on a full disk.
class small_files {
public:
    small_files()
    {
        std::signal(SIGXFSZ, SIG_IGN);
        ::getrlimit(RLIMIT_FSIZE, &before_);
        auto now = before_;
        now.rlim_cur = 200'000;
        ::setrlimit(RLIMIT_FSIZE, &now);
    }
    ~small_files() { ::setrlimit(RLIMIT_FSIZE, &before_); }

private:
    rlimit before_{};
};

std::string everything(sqs::receive_message_response const& got)
{
    std::string out;
    for (auto const& m : got.messages) {
        out.append(m.id).append(1, ' ').append(m.body);
        for (auto const& [name, value] : m.system_attributes)
            out.append(1, ' ').append(name).append("=").append(value);
        for (auto const& a : m.attributes)
            out.append(1, ' ').append(a.name).append("=").append(a.data_type).append(1, ':').append(a.value);
        out.append(1, '\n');
    }
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(queue_store_)

BOOST_AUTO_TEST_CASE(what_was_committed_is_read_again_to_the_byte)
{
    folder here;
    std::string standard, fifo, answer, handle;
    broker::instant then;
    {
        process a(here);
        auto& s = a.with;
        standard = s.create("q", {{"VisibilityTimeout", "77"}});
        fifo = s.create_fifo("f");
        sqs::tag_queue_request tag;
        tag.queue_url = standard;
        tag.tags = {{"a", ""}, {"b", "1:2"}};
        s.engine.tag_queue(tag, s.now).value();
        sqs::send_message_request request(standard, std::string("body \xc3\xa9 12:"));
        request.attributes = {{"kind", {"String", "new"}}, {"raw", {"Binary", std::string("\0\1:9", 4)}}};
        request.system_attributes = {{"AWSTraceHeader", {"String", "Root=1-2-3"}}};
        request.group_id = "tenant";
        s.engine.send_message(request, s.now).value();
        s.send(standard, "later", 20);
        s.send(fifo, "1", "g", "id");
        s.pass(1500us);
        handle = s.handle(standard, 10);
        a.save();
        then = s.now;
    }
    {
        process b(here, then);
        auto& s = b.with;
        BOOST_TEST(s.counts(standard) == "0/1/1");
        BOOST_TEST(s.attributes(standard).at("VisibilityTimeout") == "77");
        auto const tags = s.engine.list_queue_tags({sqs::list_queue_tags_request(standard)}, s.now).value().tags;
        BOOST_TEST(tags == (sqs::string_map{{"a", ""}, {"b", "1:2"}}));
        s.send(fifo, "again", "g", "id");
        BOOST_TEST(s.bodies(fifo, 10, 0) == strings{"1"});
        s.pass(10s);
        answer = everything(s.receive(standard, 10, 0));
        BOOST_TEST(answer.find("ApproximateReceiveCount=2") != std::string::npos);
    } // not saved: all that happened in here is forgotten
    process c(here, then);
    c.with.pass(10s);
    BOOST_TEST(everything(c.with.receive(standard, 10, 0)) == answer);
    c.with.remove(standard, handle).value(); // an old handle of it
    BOOST_TEST(c.with.counts(standard) == "1/1/0");
}

BOOST_AUTO_TEST_CASE(what_was_deleted_purged_or_moved_stays_so)
{
    folder here;
    std::string gone, purged, source, dead;
    {
        process a(here);
        auto& s = a.with;
        gone = s.create("gone");
        purged = s.create_fifo("purged");
        std::tie(source, dead) = [&] {
            auto const pair = s.create_pair("q", 1);
            return std::pair(pair.source, pair.dead);
        }();
        for (auto const& url : {gone, source})
            s.send(url, "x");
        s.send(purged, "x", "g");
        a.save();
        s.engine.delete_queue({sqs::delete_queue_request(gone)}, s.now).value();
        s.engine.purge_queue({sqs::purge_queue_request(purged)}, s.now).value();
        s.handle(source, 0);
        s.receive(source);
        a.save();
    }
    process b(here);
    auto& s = b.with;
    BOOST_TEST(s.engine.look_at_queues(s.now).size() == 3u);
    BOOST_TEST(s.counts(purged) == "0/0/0");
    s.send(purged, "x", "g"); // no duplicate any more
    BOOST_TEST(s.counts(purged) == "1/0/0");
    BOOST_TEST(s.counts(source) == "0/0/0");
    BOOST_TEST(s.bodies(dead) == strings{"x"});
}

BOOST_AUTO_TEST_CASE(move_tasks_are_read_again_the_newest_first)
{
    struct reader final : broker::journal_reader {
        std::vector<broker::task_record> tasks;
        result<void> take(broker::engine_totals const&) override { return {}; }
        result<void> take(broker::queue_record const&) override { return {}; }
        result<void> take(broker::message_record const&) override { return {}; }
        result<void> take(broker::sent_record const&) override { return {}; }
        result<void> take(broker::task_record const& one) override
        {
            tasks.push_back(one);
            return {};
        }
    };
    folder in;
    broker::task_record old, failed, gone;
    old.id = "1";
    old.source_arn = "arn:a";
    old.per_second = 7;
    old.to_move = 9;
    old.started_at = wall_time(1'700'000'000s);
    failed = old;
    failed.id = "2";
    failed.destination_arn = "arn:b";
    failed.per_second.reset();
    gone.id = "3";
    {
        auto const store = in.open();
        for (auto const* one : {&old, &failed, &gone})
            store->task_is(*one);
        old.moved = 4;
        failed.status = broker::task_state::failed;
        failed.failure_reason = "no queue";
        store->task_is(old);
        store->task_is(failed);
        store->task_gone("3");
        store->commit({}, wall_time()).value();
    }
    reader found;
    in.open()->read(found, wall_time()).value();
    BOOST_TEST((found.tasks == std::vector{failed, old}));
}

BOOST_AUTO_TEST_CASE(what_was_sent_is_forgotten_after_its_five_minutes)
{
    folder here;
    {
        process a(here);
        auto const url = a.with.create_fifo("q");
        a.with.send(url, "1", "g");
        a.save();
        a.with.pass(301s);
        a.with.send(url, "2", "g");
        a.save();
    }
    sqlite::connection db(here.file());
    BOOST_TEST(db.number("SELECT count(*) FROM sent") == 1);
}

BOOST_AUTO_TEST_CASE(a_file_that_is_no_store_of_ours_is_left_alone)
{
    folder here;
    {
        auto const first = here.open();
        BOOST_TEST(here.complaint().find("queues.sqlite is in use: another broker has it; stop that one") !=
                std::string::npos,
            here.complaint());
    }
    BOOST_TEST(here.complaint() == "none");
    here.run("PRAGMA user_version = 9");
    BOOST_TEST(
        here.complaint().find("has version 9 of the tables, and this program knows version 1") != std::string::npos,
        here.complaint());
    fs::remove(here.file());
    here.run("CREATE TABLE theirs (x)");
    BOOST_TEST(here.complaint().find("is the database of another program; name another folder") != std::string::npos,
        here.complaint());
    fs::remove(here.file());
    std::ofstream(here.file()) << std::string(5000, 'x');
    BOOST_TEST(here.complaint().find("is no SQLite database") != std::string::npos, here.complaint());
    fs::remove(here.file());
    std::ofstream(here.path / "plain") << "x";
    auto const opened = queue_store::open(here.path / "plain");
    BOOST_REQUIRE(!opened);
    BOOST_TEST(opened.error().message.find("is no folder") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_folder_is_made_for_its_owner_alone)
{
    folder here;
    auto const below = here.path / "a" / "b";
    queue_store::open(below).value();
    auto const allowed = fs::status(below).permissions() & fs::perms::all;
    BOOST_TEST(static_cast<unsigned>(allowed) == 0700u);
}

// Everybody on the machine could read the bodies.
BOOST_AUTO_TEST_CASE(the_files_of_a_store_are_its_owners_alone_whatever_the_umask)
{
    auto const before = ::umask(0);
    folder here;
    auto const mode_of = [&](std::string const& behind) {
        return static_cast<unsigned>(fs::status(here.file() + behind).permissions() & fs::perms::all);
    };
    {
        process a(here);
        a.with.create("q");
        a.save();
        BOOST_TEST(mode_of("") == 0600u);
        BOOST_TEST(mode_of("-wal") == 0600u);
    }
    fs::permissions(here.file(), fs::perms(0644));
    process a(here);
    BOOST_TEST(mode_of("") == 0600u);
    ::umask(before);
}

BOOST_AUTO_TEST_CASE(receipt_handles_survive_a_restart_and_those_of_a_number_for_a_key_do_not)
{
    folder here;
    std::string url, handle;
    {
        process a(here);
        url = a.with.create("q");
        a.with.send(url, "m");
        handle = a.with.handle(url);
        a.save();
    }
    {
        process b(here);
        BOOST_TEST(b.with.remove(url, handle).has_value());
        BOOST_TEST(b.with.counts(url) == "0/0/0");
        b.save();
    }
    here.run("UPDATE totals SET receipt_key = 1234567890123456"); // as before keys were of 16 bytes
    process c(here);
    BOOST_TEST(c.with.remove(url, handle).error().service_code == "ReceiptHandleIsInvalid");
    c.with.send(url, "n");
    BOOST_TEST(c.with.remove(url, c.with.handle(url)).has_value());
}

// A full disk, for one.
BOOST_AUTO_TEST_CASE(a_change_that_cannot_be_written_fails_the_commit_and_all_after_it)
{
    folder here;
    process a(here);
    auto const url = a.with.create("q");
    a.save();
    {
        sqs::send_message_request request(url, std::string(900'000, 'x'));
        small_files const limit;
        a.with.engine.send_message(request, a.with.now).value();
        auto const kept = a.with.engine.save();
        BOOST_REQUIRE(!kept);
        BOOST_TEST(kept.error().message.find("cannot be written") != std::string::npos, kept.error().message);
    }
    a.with.send(url, "y");
    BOOST_TEST(!a.with.engine.save());
}

BOOST_AUTO_TEST_SUITE_END()
