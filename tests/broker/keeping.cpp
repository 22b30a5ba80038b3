#include "paper_journal.hpp"
#include "service.hpp"

#include <random>
#include <set>

// An engine that goes on from the journal of another.

using namespace quern::test;

namespace {

/// An engine on a journal.
struct kept_service : service {
    explicit kept_service(
        paper_journal& on, broker::instant since = broker::instant(std::chrono::seconds(1'700'000'000)))
    {
        now = since;
        engine.keep_in(on, now).value();
    }
    void save() { engine.save().value(); }
};

std::string look(service& s, std::string const& queue)
{
    std::string out = s.counts(queue) + '\n';
    for (auto const& m : s.engine.look_at_messages(queue, 1000, s.now).value()) {
        out += m.id + ' ' + m.body + ' ' + m.group_id + ' ' + std::string(m.state) + ' ' +
            std::to_string(m.receive_count) + ' ' + std::to_string(m.sent_at.time_since_epoch().count()) + '\n';
    }
    return out;
}

std::string text_of(sqs::message const& m)
{
    std::string out(m.body);
    for (auto const& [name, value] : m.system_attributes)
        out.append(1, ' ').append(name).append("=").append(value);
    for (auto const& a : m.attributes)
        out.append(1, ' ').append(a.name).append("=").append(a.data_type).append(1, ':').append(a.value);
    return out.append(1, ' ').append(m.md5_of_body).append(1, ' ').append(m.md5_of_attributes);
}

} // namespace

BOOST_AUTO_TEST_SUITE(keeping)

BOOST_AUTO_TEST_CASE(queues_come_back_with_attributes_tags_and_the_messages_in_each_state)
{
    paper_journal paper;
    kept_service a(paper);
    auto const [source, dead] = a.create_pair("orders", 3, {{"VisibilityTimeout", "77"}, {"Policy", "{}"}});
    sqs::tag_queue_request tag;
    tag.queue_url = source;
    tag.tags = {{"team", "shop"}};
    a.engine.tag_queue(tag, a.now).value();
    a.send(source, "held");
    auto const handle = a.handle(source, 50);
    a.send(source, "later", 20);
    a.send(source, "now");
    a.save();

    kept_service b(paper, a.now);
    BOOST_TEST(look(b, source) == look(a, source));
    BOOST_TEST(b.counts(source) == "1/1/1");
    BOOST_TEST(b.attributes(source) == a.attributes(source));
    BOOST_TEST(
        b.engine.list_queue_tags({sqs::list_queue_tags_request(source)}, b.now).value().tags.at("team") == "shop");
    b.pass(21s);
    BOOST_TEST(b.counts(source) == "2/0/1");
    b.pass(30s);
    BOOST_TEST(b.counts(source) == "3/0/0");
    b.remove(source, handle).value();
    BOOST_TEST(b.counts(source) == "2/0/0");
}

BOOST_AUTO_TEST_CASE(a_message_comes_back_whole)
{
    paper_journal paper;
    kept_service a(paper);
    auto const url = a.create("q");
    sqs::send_message_request request(url, "body");
    request.attributes = {{"kind", {"String", "new"}}, {"raw", {"Binary", std::string("\0\1", 2)}}};
    request.system_attributes = {{"AWSTraceHeader", {"String", "Root=1-2-3"}}};
    request.group_id = "tenant";
    a.engine.send_message(request, a.now).value();
    a.save();
    kept_service b(paper, a.now);
    BOOST_TEST(text_of(b.receive(url).messages.at(0)) == text_of(a.receive(url).messages.at(0)));
}

BOOST_AUTO_TEST_CASE(what_was_not_saved_is_forgotten_together)
{
    paper_journal paper;
    kept_service a(paper);
    auto const url = a.create("q");
    a.save();
    a.send(url, "one");
    BOOST_TEST(a.engine.unsaved());
    a.save();
    BOOST_TEST(!a.engine.unsaved());
    a.remove(url, a.handle(url)).value();
    a.send(url, "two");
    kept_service b(paper, a.now);
    BOOST_TEST(b.bodies(url) == strings{"one"});
}

BOOST_AUTO_TEST_CASE(a_look_and_an_empty_receive_change_nothing)
{
    paper_journal paper;
    kept_service a(paper);
    auto const url = a.create("q");
    a.save();
    a.receive(url);
    a.attributes(url);
    a.poll(url);
    BOOST_TEST(!a.engine.unsaved());
}

BOOST_AUTO_TEST_CASE(a_purge_a_deletion_of_a_queue_and_the_end_of_retention_come_back_as_such)
{
    paper_journal paper;
    kept_service a(paper);
    auto const purged = a.create("purged");
    auto const gone = a.create("gone");
    auto const aged = a.create("aged", {{"MessageRetentionPeriod", "60"}});
    for (auto const& url : {purged, gone, aged})
        a.send(url, "x");
    a.save();
    a.engine.purge_queue({sqs::purge_queue_request(purged)}, a.now).value();
    a.engine.delete_queue({sqs::delete_queue_request(gone)}, a.now).value();
    a.pass(61s);
    a.save();
    BOOST_TEST(paper.messages() == 0u);
    kept_service b(paper, a.now);
    BOOST_TEST(b.counts(purged) == "0/0/0");
    BOOST_TEST(b.engine.look_at_queues(b.now).size() == 2u);
}

BOOST_AUTO_TEST_CASE(what_ended_while_nobody_looked_ends_at_once)
{
    paper_journal paper;
    kept_service a(paper);
    auto const url = a.create("q");
    auto const aged = a.create("aged", {{"MessageRetentionPeriod", "60"}});
    a.send(url, "x");
    a.send(aged, "y");
    a.handle(url, 30);
    a.save();
    kept_service b(paper, a.now + 1h);
    BOOST_TEST(b.counts(url) == "1/0/0");
    BOOST_TEST(b.counts(aged) == "0/0/0");
    b.save();
    BOOST_TEST(paper.messages() == 1u);
}

BOOST_AUTO_TEST_CASE(a_dead_letter_queue_knows_where_its_messages_came_from)
{
    paper_journal paper;
    kept_service a(paper);
    auto const [source, dead] = a.create_pair("q", 1);
    a.send(source, "x");
    a.handle(source, 0);
    BOOST_TEST(a.receive(source).messages.empty());
    a.save();
    kept_service b(paper, a.now);
    BOOST_TEST(b.counts(source) == "0/0/0");
    BOOST_TEST(text_of(b.receive(dead).messages.at(0)) == text_of(a.receive(dead).messages.at(0)));
}

// It was forgotten half way, though its start had been answered.
BOOST_AUTO_TEST_CASE(a_move_task_goes_on_and_those_before_are_listed)
{
    paper_journal paper;
    auto const tasks = [](service& s, std::string const& of) {
        sqs::list_message_move_tasks_request request(of);
        request.max_results = 10;
        return s.engine.list_message_move_tasks(request, s.now).value().tasks;
    };
    kept_service a(paper);
    auto const [source, dead] = a.create_pair("orders", 3);
    auto const other = a.create("other");
    auto const start = [&, to = other, from = dead] {
        sqs::start_message_move_task_request request(a.arn(from));
        request.destination_arn = a.arn(to);
        request.max_messages_per_second = 1;
        return a.engine.start_message_move_task(request, a.now).value().task_handle;
    };
    start(); // nothing to move
    a.pass(1s);
    for (int i = 0; i < 5; ++i)
        a.send(dead, std::to_string(i));
    auto const handle = start();
    a.pass(1500ms);
    a.save();
    auto const before = tasks(a, a.arn(dead));
    BOOST_REQUIRE(before.size() == 2u);
    BOOST_TEST(before[0].status == "RUNNING");
    BOOST_TEST(before[0].messages_moved == 2);
    BOOST_TEST(before[1].status == "COMPLETED");

    kept_service b(paper, a.now);
    BOOST_TEST(tasks(b, b.arn(dead)).at(0).task_handle == handle);
    b.pass(10s);
    auto const after = tasks(b, b.arn(dead));
    BOOST_REQUIRE(after.size() == 2u);
    BOOST_TEST(after[0].status == "COMPLETED");
    BOOST_TEST(after[0].messages_moved == 5);
    BOOST_TEST(after[0].messages_to_move.value() == 5);
    BOOST_TEST(after[0].max_messages_per_second.value() == 1);
    BOOST_TEST(after[0].started_at_ms == before[0].started_at_ms);
    BOOST_TEST(after[1].started_at_ms == before[1].started_at_ms);
    BOOST_TEST(b.counts(other).starts_with("5"), b.counts(other));
}

BOOST_AUTO_TEST_CASE(a_fifo_queue_knows_its_duplicates_for_the_rest_of_five_minutes_and_goes_on_counting)
{
    paper_journal paper;
    kept_service a(paper);
    auto const url = a.create_fifo("q");
    auto const first = a.send(url, "1", "g", "same");
    auto const sequence = std::string(a.receive(url, 1, 0).messages.at(0).system("SequenceNumber"));
    a.save();
    kept_service b(paper, a.now + 299s);
    BOOST_TEST(b.send(url, "2", "g", "same") == first);
    b.pass(1s);
    BOOST_TEST(b.send(url, "3", "g", "same") != first);
    auto const got = b.receive(url);
    BOOST_REQUIRE(got.messages.size() == 2u);
    BOOST_TEST(got.messages[1].system("SequenceNumber") > sequence);
}

// An hour earlier than when it was written: messages were hidden for that hour too.
BOOST_AUTO_TEST_CASE(a_clock_that_was_put_back_hides_nothing_for_longer_than_it_was_to_be)
{
    paper_journal paper;
    kept_service a(paper);
    auto const url = a.create("q");
    a.send(url, "held");
    a.handle(url, 30);
    a.send(url, "delayed", 20);
    auto const fifo = a.create_fifo("f");
    auto const first = a.send(fifo, "1", "g", "same");
    a.save();
    kept_service b(paper, a.now - 1h);
    BOOST_TEST(b.counts(url) == "0/1/1");
    b.pass(20s);
    BOOST_TEST(b.counts(url) == "1/0/1");
    b.pass(10s);
    BOOST_TEST(b.counts(url) == "2/0/0");
    BOOST_TEST(b.send(fifo, "2", "g", "same") == first);
    b.pass(270s);
    BOOST_TEST(b.send(fifo, "3", "g", "same") != first);
}

BOOST_AUTO_TEST_CASE(queues_of_before_move_to_the_partition_of_their_region)
{
    paper_journal paper;
    broker::queue_record old{1, "arn:aws:sqs:cn-north-1:000000000000:q", 1, 1, {}, {}};
    old.attributes["RedrivePolicy"] =
        R"({"deadLetterTargetArn":"arn:aws:sqs:cn-north-1:000000000000:dead","maxReceiveCount":1})";
    paper.queue_is(old);
    paper.queue_is({2, "arn:aws:sqs:cn-north-1:000000000000:dead", 1, 1, {}, {}});
    paper.commit({2, 0, 7}, {}).value();
    service s(broker::engine_options{.region = "cn-north-1"});
    s.engine.keep_in(paper, s.now).value();
    sqs::get_queue_url_request named;
    named.queue_name = "q";
    auto const url = s.engine.get_queue_url(named, s.now).value().queue_url;
    BOOST_TEST(s.arn(url) == "arn:aws-cn:sqs:cn-north-1:000000000000:q");
    s.send(url, "m");
    s.receive(url, 1, 0);
    BOOST_TEST(s.receive(url).messages.empty());
    BOOST_TEST(s.counts(url) == "0/0/0"); // among the dead letters
}

BOOST_AUTO_TEST_CASE(a_handle_of_a_deleted_message_fits_no_message_of_the_next_run)
{
    paper_journal paper;
    kept_service a(paper);
    auto const url = a.create("q");
    a.send(url, "old");
    auto const handle = a.handle(url, 0);
    a.remove(url, handle).value();
    a.save();
    kept_service b(paper, a.now);
    for (int i = 0; i != 20; ++i) {
        b.send(url, "new");
        b.handle(url, 0);
    }
    b.remove(url, handle).value();
    BOOST_TEST(b.counts(url) == "20/0/0");
}

BOOST_AUTO_TEST_CASE(after_any_run_the_next_engine_gives_the_same_answers)
{
    for (std::uint64_t seed = 1; seed != 41; ++seed) {
        bool const fifo = seed % 2 == 0;
        BOOST_TEST_CONTEXT("seed " << seed)
        {
            std::mt19937_64 random(seed);
            auto const below = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
            paper_journal paper;
            kept_service a(paper);
            auto const [url, dead] = a.create_pair("q", 4, {}, fifo);
            strings handles;
            for (int i = 0; i != 200; ++i) {
                switch (below(6)) {
                case 0:
                case 1:
                    if (fifo) {
                        a.send(url, std::to_string(i), "g" + std::to_string(below(4)));
                    } else {
                        a.send(url, std::to_string(i), below(3) * 7);
                    }
                    break;
                case 2:
                    for (auto const& m : a.receive(url, 1 + below(4), below(3) * 9).messages)
                        handles.emplace_back(m.receipt_handle);
                    break;
                case 3:
                    if (!handles.empty()) (void)a.remove(url, handles[random() % handles.size()]);
                    break;
                case 4:
                    if (!handles.empty()) (void)a.change(url, handles[random() % handles.size()], below(3) * 11);
                    break;
                case 5: a.pass(std::chrono::seconds(below(10))); break;
                }
            }
            a.save();

            auto copy = paper; // a goes on writing
            kept_service b(copy, a.now);
            BOOST_TEST(look(b, url) == look(a, url));
            BOOST_TEST(look(b, dead) == look(a, dead));
            for (auto const& queue : {url, dead}) {
                std::multiset<std::string> from_a, from_b;
                std::map<std::string, std::string> last; // group -> sequence number, in all of the queue
                for (int i = 0; i != 60; ++i) {
                    auto const of_a = a.receive(queue, 3, 5), of_b = b.receive(queue, 3, 5);
                    auto const& x = of_a.messages;
                    auto const& y = of_b.messages;
                    // Which of those that became visible at one moment comes first is forgotten, and on a FIFO queue
                    // which group has been ready longest; the order in a group is not.
                    if (!fifo) BOOST_REQUIRE(x.size() == y.size());
                    for (auto const& m : x) {
                        from_a.emplace(m.body);
                        a.remove(queue, m.receipt_handle).value();
                    }
                    for (auto const& m : y) {
                        from_b.emplace(m.body);
                        b.remove(queue, m.receipt_handle).value();
                        auto& before = last[std::string(m.group_id())];
                        std::string const sequence(m.system("SequenceNumber"));
                        BOOST_TEST((before.empty() || !fifo || before < sequence));
                        before = sequence;
                    }
                    a.pass(3s);
                    b.pass(3s);
                }
                BOOST_TEST(from_a == from_b, boost::test_tools::per_element());
            }
            BOOST_TEST(b.counts(url) == "0/0/0");
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
