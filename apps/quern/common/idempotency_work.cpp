#include "common/idempotency_work.hpp"

#include "common/command_line.hpp"
#include "common/service_options.hpp"

#include <quern/idempotency/dynamodb_store.hpp>
#include <quern/idempotency/memory_store.hpp>
#include <quern/sqs/queue_reference.hpp>
#include <quern/telemetry/numbers.hpp>

#include <fmt/core.h>

#include <chrono>
#include <utility>

namespace quern::app {
namespace {

namespace asio = boost::asio;

constexpr std::string_view table_prefix = "ddb:";

std::string check_store(std::string const& text)
{
    bool const is_table = text.starts_with(table_prefix) && text.size() > table_prefix.size();
    return is_table || text == "memory" ? "" : "\"" + text + "\" is no store: ddb:TABLE or memory";
}

/// The counts of a guard, for whoever watches it.
telemetry::reading numbers_of(idempotency::once const& guard, telemetry::source_labels labels)
{
    auto const n = guard.counters();
    telemetry::numbers out(telemetry::part::idempotency, std::move(labels));
    std::size_t series = 0;
    for (auto const count : {n.claimed, n.completed, n.duplicates, n.released, n.abandoned, n.mismatched, n.fenced,
             n.unavailable, n.unrecorded})
        out.add(telemetry::id::idempotency_messages, series++, count);
    return out.read();
}

failure no_table(std::string const& table, failure const& why)
{
    if (why.service_code != "ResourceNotFoundException")
        return failure(errc::invalid_option, "--idempotency ddb:" + table + ": " + describe(why));
    return failure(errc::invalid_option,
        fmt::format("--idempotency: there is no table {0}; `quern idempotency table create {0}` makes it", table));
}

} // namespace

void add_idempotency_options(command& to, idempotency_options& o)
{
    to.add({
        {"--idempotency ddb:TABLE|memory", o.store,
            "Do the work of each key once, and remember keys in this DynamoDB table or in memory, see below; "
            "default: off",
            check(check_store)},
        {"--idempotency-key KEY", o.key,
            "With --idempotency: what the key is: message-id, deduplication-id, attribute:NAME, body:/json/pointer "
            "or body; default message-id",
            parsed_by(idempotency::key_source::parse), needs("--idempotency")},
        {"--idempotency-name NAME", o.name,
            "With --idempotency: the name of the work, which is part of each key; default: the queue's name",
            needs("--idempotency")},
        {"--idempotency-life DURATION", o.life, "With --idempotency: remember a completed key for so long",
            duration_within(std::chrono::seconds(1), std::chrono::hours(24 * 365)), shows_default(),
            needs("--idempotency")},
        {"--idempotency-flavour LANGUAGE", o.flavour,
            "With --idempotency: write keys as Powertools for this language does, to share its table; default quern",
            one_of({"quern", "python", "typescript", "java"}), needs("--idempotency")},
    });
}

asio::awaitable<result<std::shared_ptr<idempotency_work>>> idempotency_work::make(
    session& s, idempotency_options const& o)
{
    auto out = std::make_shared<idempotency_work>();
    out->said_ = o;
    auto key = idempotency::key_source::parse(o.key);
    if (!key) co_return key.error();
    out->key_ = std::move(*key);
    if (o.store == "memory") {
        out->store_ = std::make_shared<idempotency::memory_store>();
        co_return out;
    }
    auto const table = o.store.substr(table_prefix.size());
    services::dynamodb_options options;
    endpoint_options where{{}, s.options.where.region, s.options.profile};
    auto const settled = settle(options, aws::dynamodb_service, std::move(where), aws::process_environment);
    if (!settled) co_return settled.error();
    if (!options.credentials && !s.options.credentials) options.credentials = s.sqs.credentials();
    auto const client = std::make_shared<services::dynamodb>(s.sqs.get_executor(), std::move(options));
    services::describe_table_request question(table);
    auto const there = co_await client->describe_table(std::move(question));
    bool const may_ask = there || !there.error().service_code.starts_with("AccessDenied");
    if (!there && may_ask) co_return no_table(table, there.error());
    idempotency::dynamodb_store_options how;
    how.table = table;
    how.as = idempotency::flavour_named(o.flavour).value();
    if (there) {
        how.names.key = there->hash_key;
        how.names.sort_key = there->sort_key;
    }
    if (!o.name.empty()) how.partition = "idempotency#" + o.name;
    out->store_ = std::make_shared<idempotency::dynamodb_store>(client, std::move(how));
    co_return out;
}

void idempotency_work::add_attributes(consumer_options& to) const
{
    if (key_.what == idempotency::key_source::kind::deduplication_id)
        to.system_attributes.emplace_back("MessageDeduplicationId");
}

handler idempotency_work::wrap(std::string const& queue_url, handler inner)
{
    idempotency::once_options how;
    how.prefix = said_.name.empty() ? std::string(sqs::queue_name_in(queue_url)) : said_.name;
    how.as = idempotency::flavour_named(said_.flavour).value();
    how.key = key_;
    how.life = std::chrono::floor<std::chrono::seconds>(said_.life);
    how.log = to_stderr();
    auto const guard = std::make_shared<idempotency::once>(store_, std::move(how));
    guards_[queue_url] = guard;
    return guard->wrap(std::move(inner));
}

void idempotency_work::show(
    std::string const& queue_url, telemetry::source_labels const& labels, metrics::collection& in) const
{
    in.add([guard = guards_.at(queue_url), labels] { return numbers_of(*guard, labels); });
}

std::string idempotency_work::statistics() const
{
    idempotency::once_counters sum;
    for (auto const& [url, guard] : guards_) {
        auto const n = guard->counters();
        sum.claimed += n.claimed;
        sum.completed += n.completed;
        sum.duplicates += n.duplicates;
        sum.released += n.released;
        sum.fenced += n.fenced;
        sum.unavailable += n.unavailable;
        sum.unrecorded += n.unrecorded;
    }
    return fmt::format("idempotency: claimed {}, completed {}, duplicates {}, given back {}, fenced {}, store "
                       "unavailable {}, done and not recorded {}",
        sum.claimed, sum.completed, sum.duplicates, sum.released, sum.fenced, sum.unavailable, sum.unrecorded);
}

} // namespace quern::app
