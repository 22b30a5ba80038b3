// Quern's own client against any SQS: the checks of docs/interop.md, one JSON line each.
//
// usage: interop_client [CHECK...]
#include "client_calls.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <iostream>

namespace interop {
namespace {

using namespace std::chrono_literals;

class suite : calls {
public:
    using calls::calls;

    checked send()
    {
        auto const queue = co_await create("send");
        texts given{
            "plain", "quotes \" \\ \t\n <&> Gr\u00fc\u00dfe \u4f60\u597d \U0001f600", std::string(200'000, 'x')};
        for (auto const& text : given)
            co_await put(queue, text);
        auto const got = co_await collect(queue, 3);
        same(sorted(bodies(got)), sorted(given), "bodies");
        co_await remove(queue, got);
        auto const rest = co_await now(queue);
        same(bodies(rest), {}, "after the deletes");
    }

    checked batch()
    {
        auto const queue = co_await create("batch");
        std::vector<sqs::send_message_entry> entries;
        for (auto const* const text : {"a", "b", "c"})
            entries.emplace_back(text);
        auto const sent = co_await sqs::send_batch(client_, queue, std::move(entries));
        for (auto const& each : sent)
            each.value();
        auto const got = co_await collect(queue, 3);
        texts handles{got[0].handle, "no-such-handle", got[1].handle, got[2].handle};
        auto const done = co_await sqs::delete_batch(client_, queue, std::move(handles));
        same(codes(done), {"", "ReceiptHandleIsInvalid", "", ""}, "deleted");
        auto const left = co_await attribute(queue, "ApproximateNumberOfMessages");
        same(left, "0", "left");
        auto const in_flight = co_await attribute(queue, "ApproximateNumberOfMessagesNotVisible");
        same(in_flight, "0", "left in flight");
    }

    checked visibility()
    {
        auto const queue = co_await create("visibility");
        co_await put(queue, "m");
        auto const first = co_await collect(queue, 1);
        auto const hidden = co_await now(queue);
        same(bodies(hidden), {}, "while it is hidden");
        co_await show(queue, first[0]);
        auto const second = co_await collect(queue, 1);
        same(second[0].count, 2, "receive count");
        std::vector<sqs::change_visibility_entry> changes;
        changes.emplace_back("", second[0].handle, 1s);
        changes.emplace_back("", "no-such-handle", 1s);
        auto const changed = co_await sqs::change_visibility_batch(client_, queue, std::move(changes));
        same(changed[0].has_value(), true, "changed");
        auto const third = co_await collect(queue, 1);
        same(third[0].count, 3, "receive count");
        same(codes(changed), {"", "ReceiptHandleIsInvalid"}, "changed");
    }

    checked queue()
    {
        sqs::string_map settings{{"VisibilityTimeout", "45"}};
        auto const url = co_await create("queue", std::move(settings));
        sqs::get_queue_url_request named(name("queue"));
        auto const found = co_await client_.get_queue_url(named);
        same(found.value().queue_url, url, "URL");
        auto const arn = co_await attribute(url, "QueueArn");
        same(arn.substr(arn.rfind(':') + 1), name("queue"), "ARN");
        sqs::set_queue_attributes_request change(url, {{"VisibilityTimeout", "50"}});
        auto const set = co_await client_.set_queue_attributes(std::move(change));
        set.value();
        auto const timeout = co_await attribute(url, "VisibilityTimeout");
        same(timeout, "50", "VisibilityTimeout");
        co_await put(url, "a");
        co_await put(url, "b");
        auto const count = co_await attribute(url, "ApproximateNumberOfMessages");
        same(count, "2", "count");
        sqs::purge_queue_request purge(url);
        auto const purged = co_await client_.purge_queue(std::move(purge));
        purged.value();
        auto const left = co_await now(url);
        same(bodies(left), {}, "after the purge");
        sqs::delete_queue_request end(url);
        auto const deleted = co_await client_.delete_queue(std::move(end));
        deleted.value();
        auto const gone = co_await client_.get_queue_url(named);
        same(code(gone), "AWS.SimpleQueueService.NonExistentQueue", "error code");
    }

    checked attributes()
    {
        auto const queue = co_await create("attributes");
        std::string bytes(256, '\0');
        for (int n = 0; n != 256; ++n)
            bytes[static_cast<std::size_t>(n)] = static_cast<char>(n);
        std::string const trace = "Root=1-5759e988-bd862e3fe1be46a994272793";
        sqs::send_message_request request(queue, "m");
        request.attributes = {{"text", {"String", "Gr\u00fc\u00dfe"}}, {"kind.number", {"Number.int", "17"}},
            {"bytes", {"Binary", bytes}}};
        request.system_attributes = {{"AWSTraceHeader", {"String", trace}}};
        auto const given = request.attributes;
        auto const sent = co_await client_.send_message(std::move(request));
        sent.value();

        texts wanted{"All"};
        auto const all = co_await collect(queue, 1, 10, std::move(wanted));
        same(all[0].attributes == decltype(received::attributes)(given.begin(), given.end()), true,
            "attributes agree");
        same(all[0].trace, trace, "AWSTraceHeader");
        co_await show(queue, all[0]);
        auto const none = co_await collect(queue, 1);
        same(none[0].attributes.size(), 0u, "attributes that nobody asked for");
        co_await show(queue, none[0]);
        texts named{"kind.*", "text"};
        auto const some = co_await collect(queue, 1, 10, std::move(named));
        same(some[0].attributes.size(), 2u, "attributes by name");
    }

    checked fifo()
    {
        sqs::string_map settings{{"FifoQueue", "true"}, {"ContentBasedDeduplication", "true"}};
        auto const queue = co_await create("fifo.fifo", std::move(settings));
        for (std::string const body : {"a1", "b1", "a2", "a3", "b2", "a1"}) { // the second a1 is a duplicate
            sqs::send_message_request request(queue, body);
            request.group_id = body.substr(0, 1);
            auto const sent = co_await client_.send_message(std::move(request));
            sent.value();
        }
        auto got = co_await collect(queue, 1, 1);
        auto const head = got[0].body.front();
        auto const others = co_await now(queue);
        for (auto const& m : others)
            same(m.body.front() == head, false, "a group whose head is in flight must wait: " + m.body);
        got.insert(got.end(), others.begin(), others.end());
        std::map<char, texts> order;
        while (!got.empty()) {
            for (auto const& m : got)
                order[m.body.front()].push_back(m.body);
            co_await remove(queue, got);
            got = co_await receive(queue, 1s);
        }
        same(order['a'], {"a1", "a2", "a3"}, "group a");
        same(order['b'], {"b1", "b2"}, "group b");
    }

    checked dead_letters()
    {
        auto const at = co_await kill_twice("letters");
        auto const dead = co_await collect(at.letters, 1);
        same(dead[0].body, "poison", "dead letter");
        auto const arn = co_await attribute(at.source, "QueueArn");
        same(dead[0].source_arn, arn, "DeadLetterQueueSourceArn");
        sqs::list_dead_letter_source_queues_request ask(at.letters);
        auto const sources = co_await client_.list_dead_letter_source_queues(std::move(ask));
        same(sources.value().queue_urls, {at.source}, "source queues");
    }

    checked move_task()
    {
        auto const at = co_await kill_twice("move");
        sqs::start_message_move_task_request start(at.arn);
        auto const started = co_await client_.start_message_move_task(std::move(start));
        started.value();
        sqs::message_move_task task;
        for (int left = 40; left > 0; --left) {
            sqs::list_message_move_tasks_request ask(at.arn);
            auto const listed = co_await client_.list_message_move_tasks(std::move(ask));
            task = listed.value().tasks.at(0);
            if (task.status != "RUNNING") break;
            co_await pause(100ms);
        }
        same(task.status, "COMPLETED", "task");
        same(task.messages_moved, 1, "moved");
        auto const back = co_await collect(at.source, 1);
        same(back[0].body, "poison", "moved back");
    }

    checked long_poll()
    {
        auto const queue = co_await create("poll");
        auto const began = std::chrono::steady_clock::now();
        asio::co_spawn(io_, put_later(queue), [](std::exception_ptr failed) {
            if (failed) std::rethrow_exception(failed);
        });
        auto const got = co_await receive(queue, 8s);
        same(bodies(got), {"wake"}, "messages");
        same(std::chrono::steady_clock::now() - began < 6s, true, "woken by the message, not by the end of the wait");
    }

    checked tags()
    {
        auto const queue = co_await create("tags");
        sqs::tag_queue_request tag(queue, {{"team", "mill"}, {"tier", "1"}});
        auto const tagged = co_await client_.tag_queue(std::move(tag));
        tagged.value();
        sqs::list_queue_tags_request const ask(queue);
        auto const both = co_await client_.list_queue_tags(ask);
        same(both.value().tags == sqs::string_map{{"team", "mill"}, {"tier", "1"}}, true, "both tags are listed");
        sqs::untag_queue_request untag(queue, {"tier"});
        auto const untagged = co_await client_.untag_queue(std::move(untag));
        untagged.value();
        auto const one = co_await client_.list_queue_tags(ask);
        same(one.value().tags == sqs::string_map{{"team", "mill"}}, true, "one tag is listed");
    }

    checked paging()
    {
        texts urls, found;
        for (auto const* const each : {"page-0", "page-1", "page-2"}) {
            auto url = co_await create(each);
            urls.push_back(std::move(url));
        }
        sqs::list_queues_request ask;
        ask.name_prefix = name("page-");
        ask.max_results = 2;
        std::vector<std::size_t> sizes;
        do {
            auto const page = co_await client_.list_queues(ask);
            auto const& list = page.value().queue_urls;
            sizes.push_back(list.size());
            found.insert(found.end(), list.begin(), list.end());
            ask.next_token = page.value().next_token;
        } while (!ask.next_token->empty() && sizes.size() < 4);
        same(sorted(found), urls, "queues");
        same(sizes == std::vector<std::size_t>{2, 1}, true, "two pages come");
    }

    /// Errors of a handle that never was: a batch that breaks a limit never leaves the client.
    checked errors()
    {
        auto const queue = co_await create("errors");
        sqs::delete_message_request request(queue, "no-such-handle");
        auto const bad = co_await client_.delete_message(std::move(request));
        same(code(bad), "ReceiptHandleIsInvalid", "error code");
    }

    checked signature()
    {
        co_await refused(variable("AWS_ACCESS_KEY_ID"), "SignatureDoesNotMatch");
        co_await refused("AKIAUNKNOWN", "InvalidClientTokenId");
    }

private:
    checked put_later(std::string queue)
    {
        co_await pause(700ms);
        co_await put(queue, "wake");
    }

    checked refused(std::string key, std::string wanted)
    {
        sqs::client_options options;
        options.credentials = quern::aws::static_credentials(quern::aws::credentials{std::move(key), "wrong", ""});
        sqs::client stranger(io_.get_executor(), std::move(options));
        sqs::list_queues_request request;
        auto const answer = co_await stranger.list_queues(std::move(request));
        if (!is_refused(answer, wanted)) same(code(answer), wanted, "error code");
    }
};

struct check {
    std::string name;
    checked (suite::*run)();
};

check const checks[] = {
    {"send", &suite::send},
    {"batch", &suite::batch},
    {"visibility", &suite::visibility},
    {"queue", &suite::queue},
    {"attributes", &suite::attributes},
    {"fifo", &suite::fifo},
    {"dead_letters", &suite::dead_letters},
    {"move_task", &suite::move_task},
    {"long_poll", &suite::long_poll},
    {"tags", &suite::tags},
    {"paging", &suite::paging},
    {"errors", &suite::errors},
    {"signature", &suite::signature},
};

/// Why the check failed; empty when it did not.
std::string outcome(check const& which)
try {
    asio::io_context io(1);
    suite all(io);
    asio::co_spawn(io, (all.*which.run)(), [&](std::exception_ptr failed) {
        if (failed) std::rethrow_exception(failed);
        io.stop();
    });
    io.run();
    return {};
} catch (std::exception const& e) {
    return e.what();
}

int run(texts const& wanted)
{
    for (auto const& each : checks) {
        if (!wanted.empty() && std::ranges::find(wanted, each.name) == wanted.end()) continue;
        auto const why = outcome(each);
        boost::json::value const line = {{"check", each.name}, {"ok", why.empty()}, {"why", why}};
        std::cout << boost::json::serialize(line) << std::endl;
    }
    return 0;
}

} // namespace
} // namespace interop

int main(int count, char** arguments)
{
    return interop::run(interop::texts(arguments + 1, arguments + count));
}
