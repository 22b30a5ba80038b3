#include "common/command_line.hpp"
#include "common/commands.hpp"
#include "common/complaint.hpp"
#include "common/idempotency_work.hpp"
#include "common/service_options.hpp"
#include "common/session.hpp"
#include "common/standard_streams.hpp"

#include <quern/core/alarm.hpp>
#include <quern/core/detail/printable.hpp>
#include <quern/core/detail/text/date.hpp>
#include <quern/core/detail/text/json_writer.hpp>
#include <quern/fleet/fleet_limit.hpp>
#include <quern/idempotency/detail/canonical.hpp>
#include <quern/idempotency/dynamodb_store.hpp>

#include <boost/asio/io_context.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace quern::app {

using namespace quern::detail;

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

struct table_options {
    std::string table;
    std::string key;
    std::string name; ///< set: `key` is the value that the key is made of
    std::string flavour = "quern";
};

struct table_session {
    asio::io_context io{1};
    std::shared_ptr<services::dynamodb> client;
};

exit_code complain_of(table_session const& s, table_options const& o, failure const& why)
{
    return complain(o.table + " at " + s.client->endpoint().authority() + ": " + describe(why));
}

/// Nothing once the table can be used.
asio::awaitable<std::optional<failure>> wait_until_active(table_session& s, std::string const& table)
{
    alarm awake(real_clock(), s.io.get_executor());
    auto const give_up_at = real_clock().now() + 2min;
    for (;;) {
        services::describe_table_request question(table);
        auto const said = co_await s.client->describe_table(std::move(question));
        if (!said) co_return said.error();
        if (said->status == "ACTIVE") co_return std::nullopt;
        if (real_clock().now() >= give_up_at)
            co_return failure(errc::timed_out, "still " + said->status + " after two minutes");
        co_await awake.wait(real_clock().now() + 1s);
    }
}

asio::awaitable<int> create(table_session& s, table_options const& o)
{
    idempotency::row_names const names;
    services::create_table_request request(o.table, names.key);
    auto const made = co_await s.client->create_table(std::move(request));
    bool const was_there = !made && made.error().service_code == "ResourceInUseException";
    if (!made && !was_there) co_return complain_of(s, o, made.error());
    auto const not_active = co_await wait_until_active(s, o.table);
    if (not_active) co_return complain_of(s, o, *not_active);

    services::describe_time_to_live_request question(o.table);
    auto const life = co_await s.client->describe_time_to_live(std::move(question));
    bool const has_life = life && life->status.starts_with("ENABL");
    if (!has_life) {
        services::update_time_to_live_request change(o.table, names.expiration);
        auto const changed = co_await s.client->update_time_to_live(std::move(change));
        if (!changed) co_return complain_of(s, o, changed.error());
    }
    say(stdout, "{} {}\n", printable(o.table), was_there ? "was there" : "created");
    co_return ok;
}

asio::awaitable<int> show(table_session& s, table_options const& o)
{
    services::describe_table_request question(o.table);
    auto const about = co_await s.client->describe_table(std::move(question));
    if (!about) co_return complain_of(s, o, about.error());
    services::describe_time_to_live_request of_life(o.table);
    auto const life = co_await s.client->describe_time_to_live(std::move(of_life));
    if (!life) co_return complain_of(s, o, life.error());
    say(stdout,
        "status={}\nkey={}\nsort_key={}\nbilling={}\ntime_to_live={}\ntime_to_live_attribute={}\nitems={}\nbytes={}"
        "\n",
        printable(about->status), printable(about->hash_key), printable(about->sort_key), printable(about->billing),
        printable(life->status), printable(life->attribute), about->items, about->bytes);
    co_return ok;
}

/// The store over that table, whatever its keys are called.
asio::awaitable<result<std::shared_ptr<idempotency::dynamodb_store>>> open(table_session& s, table_options const& o)
{
    services::describe_table_request question(o.table);
    auto const about = co_await s.client->describe_table(std::move(question));
    if (!about) co_return about.error();
    idempotency::dynamodb_store_options how;
    how.table = o.table;
    how.as = idempotency::flavour_named(o.flavour).value();
    how.names.key = about->hash_key;
    how.names.sort_key = about->sort_key;
    if (!o.name.empty()) how.partition = "idempotency#" + o.name;
    co_return std::make_shared<idempotency::dynamodb_store>(s.client, std::move(how));
}

/// The keys that may be meant: of what the work's name and KEY make, KEY as a text, and as the JSON that it is too.
std::vector<std::string> stored_keys(table_options const& o)
{
    if (o.name.empty()) return {o.key};
    auto const as = idempotency::flavour_named(o.flavour).value();
    std::string text;
    text::append_json_string(text, o.key);
    std::vector<std::string> out{idempotency::make_key(as, o.name, text)};
    auto const json = idempotency::detail::json_at(o.key, ""); // a number, or the list of several parts
    if (json && !json->starts_with('"')) out.push_back(idempotency::make_key(as, o.name, *json));
    return out;
}

exit_code complain_of_none(table_options const& o, std::vector<std::string> const& keys)
{
    std::string all;
    for (auto const& key : keys)
        all += (all.empty() ? "" : " or ") + key;
    return complain("there is no row " + printable(all) + " in " + o.table);
}

std::string as_json(std::string const& key, idempotency::record const& row)
{
    std::string out;
    text::json_writer json(out);
    bool const done = row.is == idempotency::record::state::completed;
    json.begin_object().member("key", key).member("status", done ? "COMPLETED" : "INPROGRESS");
    json.member("expires", text::rfc3339(row.expires));
    if (row.in_progress_until && !done) json.member("in_progress_until", text::rfc3339(*row.in_progress_until));
    if (!row.owner.empty()) json.member("owner", row.owner);
    if (row.result) json.member("data", *row.result);
    if (!row.validation.empty()) json.member("validation", row.validation);
    json.end_object();
    return out;
}

asio::awaitable<int> get(table_session& s, table_options const& o)
{
    auto const store = co_await open(s, o);
    if (!store) co_return complain_of(s, o, store.error());
    auto const keys = stored_keys(o);
    bool is_there = false;
    for (auto const& key : keys) {
        auto const row = co_await (*store)->get(key);
        if (!row) co_return complain_of(s, o, row.error());
        if (*row) say(stdout, "{}\n", harmless(as_json(key, **row)));
        is_there = is_there || *row;
    }
    if (!is_there) co_return complain_of_none(o, keys);
    co_return ok;
}

asio::awaitable<int> forget(table_session& s, table_options const& o)
{
    auto const store = co_await open(s, o);
    if (!store) co_return complain_of(s, o, store.error());
    auto const keys = stored_keys(o);
    bool was_there = false;
    for (auto const& key : keys) {
        auto const done = co_await (*store)->forget(key);
        if (!done) co_return complain_of(s, o, done.error());
        was_there = was_there || *done;
    }
    if (!was_there) co_return complain_of_none(o, keys);
    co_return ok;
}

/// A line for each process that shares the budget.
asio::awaitable<int> show_fleet(table_session& s, table_options const& o)
{
    fleet::fleet_item where;
    where.table = o.table;
    where.name = o.key;
    auto const found = co_await fleet::members_of(*s.client, std::move(where));
    if (!found) co_return complain_of(s, o, found.error());
    for (auto const& m : *found) {
        std::string out;
        text::json_writer json(out);
        json.begin_object().member("process", m.name).key("rate").number(static_cast<double>(m.slice.rate) / 1000);
        json.member("concurrency", m.slice.concurrency).member("beat", m.beat).end_object();
        say(stdout, "{}\n", harmless(out));
    }
    co_return ok;
}

using table_action = asio::awaitable<int> (*)(table_session&, table_options const&);

int run_on(endpoint_options const& where, table_options const& o, table_action what)
{
    services::dynamodb_options options;
    auto const settled = settle(options, aws::dynamodb_service, where, aws::process_environment);
    if (!settled) return complain(settled.error());
    table_session s;
    s.client = std::make_shared<services::dynamodb>(s.io.get_executor(), std::move(options));
    int const code = run(s.io, what(s, o));
    s.client->close();
    s.io.run();
    return code;
}

constexpr char const* table_footer =
    R"(A table remembers what `quern consume --idempotency ddb:NAME` has done, and functions of Powertools where they share it.
The endpoint is that of DynamoDB here: --endpoint, AWS_ENDPOINT_URL_DYNAMODB or AWS_ENDPOINT_URL, else the region's own.

KEY is a row's key as it is stored, "orders#1f2e…". With --name it is what such a key is made of: a message id, an order number, of
several parts the list of them as JSON, of a whole body that body. What could be a number and a text is looked for as both.

A fleet's budget, of --fleet-limit, may stand in the same table, or in any whose key is "id". A process lives while its
beat grows: print the fleet twice to see.

Forget a key to have its message handled again; of one that is in progress its handler loses the claim and is cancelled.

Examples:
  quern idempotency table create seen
  quern idempotency table show seen
  quern idempotency table fleet seen orders
  quern idempotency table get seen 059f36b4-87a3-44ab-83d2-661975830a7d --name orders
  quern idempotency table get seen '["EU", 17]' --name orders
  quern idempotency table forget seen 059f36b4-87a3-44ab-83d2-661975830a7d --name orders)";

} // namespace

void add_idempotency(command& app, command_line& line)
{
    auto const o = std::make_shared<table_options>();
    auto* const all = app.add_subcommand("idempotency", "The table behind handlers that must not repeat");
    all->one_subcommand_at_most(); // see main()
    all->footer(table_footer);
    auto* const table = all->add_subcommand("table", "Create a table, show it, get or forget a row");
    table->one_subcommand_at_most();
    table->footer(table_footer);
    auto const add = [&](char const* name, char const* what, table_action run_it) {
        auto* const one = table->add_subcommand(name, what);
        one->add({"NAME", o->table, "The table", required()});
        when_named(*one, line, [o, &line, run_it] { return run_on(line.where, *o, run_it); });
        return one;
    };
    auto const add_for_row = [&](char const* name, char const* what, table_action run_it) {
        auto* const one = add(name, what, run_it);
        one->add({
            {"KEY", o->key, "A row's key, or with --name what it is made of", required()},
            {"--name NAME", o->name, "What the work is called, as --idempotency-name"},
            {"--flavour LANGUAGE", o->flavour, "As --idempotency-flavour [quern]",
                one_of({"quern", "python", "typescript", "java"})},
        });
    };
    add("create", "Create it on demand with a time to live, or find the one that is there", create);
    add("show", "Print its state, its keys and its time to live, NAME=VALUE a line", show);
    add("fleet", "Print the processes that share a budget, and their slices, as JSON", show_fleet)
        ->add({
            {"FLEET", o->key, "Its name, as in --fleet-limit ddb:NAME/FLEET", required()},
        });
    add_for_row("get", "Print a row as JSON", get);
    add_for_row("forget", "Take a row away, whoever has it", forget);
}

} // namespace quern::app
