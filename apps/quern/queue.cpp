#include "common/command_line.hpp"
#include "common/commands.hpp"
#include "common/session.hpp"
#include "common/standard_streams.hpp"

#include <quern/core/detail/printable.hpp>
#include <quern/sqs/detail/next_tokens.hpp>
#include <quern/sqs/queue_reference.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <memory>

namespace quern::app {

using namespace quern::detail;

namespace {

namespace asio = boost::asio;

struct queue_options {
    std::string queue;
    std::string prefix;
    std::vector<std::string> attributes;
    bool fifo = false;
    bool json = false;
};

asio::awaitable<int> create(session& s, queue_options const& o)
{
    sqs::create_queue_request request(o.queue);
    for (auto const& text : o.attributes) {
        auto const sign = text.find('=');
        if (sign == 0 || sign == text.npos) {
            co_return complain("--attribute: \"" + text + "\" is not NAME=VALUE, like VisibilityTimeout=60", usage);
        }
        request.attributes[text.substr(0, sign)] = text.substr(sign + 1);
    }
    if (o.fifo || o.queue.ends_with(".fifo")) { // SQS has no other queue of such a name
        request.attributes["FifoQueue"] = "true";
        if (!o.queue.ends_with(".fifo")) request.queue_name += ".fifo";
    }
    auto const made = co_await s.sqs.create_queue(std::move(request));
    if (!made) co_return s.complain(made.error());
    say(stdout, "{}\n", printable(made->queue_url));
    co_return ok;
}

asio::awaitable<int> list(session& s, queue_options const& o)
{
    std::string token;
    sqs::detail::next_tokens pages;
    bool is_empty = true;
    do {
        sqs::list_queues_request request;
        request.max_results = 1'000;
        if (!o.prefix.empty()) request.name_prefix = o.prefix;
        if (!token.empty()) request.next_token = token;
        auto const page = co_await s.sqs.list_queues(std::move(request));
        if (!page) co_return s.complain(page.error());
        for (auto const& url : page->queue_urls)
            say(stdout, "{}\n", printable(url));
        is_empty = is_empty && page->queue_urls.empty();
        token = page->next_token;
        if (auto const more = pages.follow(token); !more) co_return s.complain(more.error());
    } while (!token.empty());
    if (is_empty)
        say(stderr, "quern: no queue{} in {} at {}; each region has queues of its own: --region\n",
            o.prefix.empty() ? "" : " that begins so", s.options.where.region, s.sqs.endpoint().origin());
    co_return ok;
}

asio::awaitable<int> attributes(session& s, queue_options const& o)
{
    auto url = co_await sqs::find_queue_url(s.sqs, o.queue);
    if (!url) co_return s.complain(url.error());
    sqs::get_queue_attributes_request request(std::move(*url));
    auto const got = co_await s.sqs.get_queue_attributes(std::move(request));
    if (!got) co_return s.complain(got.error());
    boost::json::object object;
    for (auto const& [name, value] : got->attributes) {
        if (o.json)
            object[name] = value;
        else
            say(stdout, "{}={}\n", printable(name), printable(value));
    }
    if (o.json) say(stdout, "{}\n", harmless(boost::json::serialize(object)));
    co_return ok;
}

/// An operation that takes a queue and answers nothing.
template <class Request, sqs::answer<sqs::empty_response> (sqs::api::*operation)(Request)>
asio::awaitable<int> apply(session& s, queue_options const& o)
{
    auto url = co_await sqs::find_queue_url(s.sqs, o.queue);
    if (!url) co_return s.complain(url.error());
    Request request(std::move(*url));
    sqs::api& api = s.sqs;
    auto const done = co_await (api.*operation)(std::move(request));
    if (!done) co_return s.complain(done.error());
    co_return ok;
}

using action = asio::awaitable<int> (*)(session&, queue_options const&);

} // namespace

void add_queue(command& app, command_line& line)
{
    auto const o = std::make_shared<queue_options>();
    auto* const all = app.add_subcommand("queue", "Create, list, describe, purge and delete queues");
    all->one_subcommand_at_most(); // see main()
    all->footer("Examples:\n"
                "  quern queue create orders --attribute VisibilityTimeout=60\n"
                "  quern queue create ledger.fifo --fifo\n"
                "  quern queue list --prefix or\n"
                "  quern queue attributes orders --json");

    auto const add = [&](char const* name, char const* what, action run_it) {
        auto* const one = all->add_subcommand(name, what);
        when_named(*one, line, [o, &line, run_it] {
            return run(line.where, o->queue, [o, run_it](session& s) { return run_it(s, *o); });
        });
        return one;
    };
    auto const add_named = [&](char const* name, char const* what, action run_it) {
        auto* const one = add(name, what, run_it);
        one->add({"QUEUE", o->queue, "URL, name or ARN", required()});
        return one;
    };

    auto* const creation = add("create", "Create a queue, or find the one that is there, and print its URL", create);
    creation->add({
        {"NAME", o->queue, "1 to 80 letters, digits, hyphens and underscores", required()},
        {"--attribute NAME=VALUE", o->attributes, "A setting, VisibilityTimeout=60 for one; any number of times",
            one_each_time()},
        {"--fifo", o->fifo,
            "Make it a FIFO queue, as a name that ends in .fifo does by itself; the ending is appended where it is "
            "missing"},
    });
    add("list", "Print the URL of every queue", list)->add({"--prefix", o->prefix, "Only names that begin so"});
    add_named("attributes", "Print settings and counts of a queue, NAME=VALUE a line", attributes)
        ->add({"--json", o->json, "One JSON object instead"});
    add_named("purge", "Delete all messages of a queue", apply<sqs::purge_queue_request, &sqs::api::purge_queue>);
    add_named("delete", "Delete a queue and its messages", apply<sqs::delete_queue_request, &sqs::api::delete_queue>);
}

} // namespace quern::app
