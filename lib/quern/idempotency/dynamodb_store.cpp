#include <quern/idempotency/dynamodb_store.hpp>

#include <quern/idempotency/detail/gatherer.hpp>
#include <quern/idempotency/detail/row.hpp>
#include <quern/idempotency/row_names.hpp>
#include <quern/services/dynamodb_types.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

namespace quern::idempotency {

namespace asio = boost::asio;
using services::attribute;
using services::condition;
using services::item;
using services::statement;

namespace {

std::int64_t seconds_of(wall_time at)
{
    return std::chrono::floor<std::chrono::seconds>(at.time_since_epoch()).count();
}

std::int64_t milliseconds_of(wall_time at)
{
    return std::chrono::floor<std::chrono::milliseconds>(at.time_since_epoch()).count();
}

/// is_free(), as DynamoDB is told of it; the same in all languages of Powertools.
condition when_free(row_names const& names, wall_time now)
{
    condition out;
    out.text = "attribute_not_exists(#id) OR #expiry < :now OR (#status = :inprogress AND "
               "attribute_exists(#in_progress_expiry) AND #in_progress_expiry < :now_in_millis)";
    out.names = {{"#id", names.sort_key.empty() ? names.key : names.sort_key}, {"#expiry", names.expiration},
        {"#status", names.status}, {"#in_progress_expiry", names.in_progress_expiration}};
    out.values[":now"] = attribute::number(seconds_of(now));
    out.values[":now_in_millis"] = attribute::number(milliseconds_of(now));
    out.values[":inprogress"] = attribute::text(std::string(detail::in_progress_text));
    return out;
}

/// is_mine(), likewise.
condition when_mine(row_names const& names, std::string owner)
{
    condition out;
    out.text = "#owner = :owner AND #status = :inprogress";
    out.names = {{"#owner", std::string(detail::owner_attribute)}, {"#status", names.status}};
    out.values[":owner"] = attribute::text(std::move(owner));
    out.values[":inprogress"] = attribute::text(std::string(detail::in_progress_text));
    return out;
}

/// A name between quotation marks, a mark within doubled.
void append_quoted(std::string& to, std::string_view name, char mark)
{
    to.push_back(mark);
    for (auto const c : name) {
        if (c == mark) to.push_back(c);
        to.push_back(c);
    }
    to.push_back(mark);
}

void append_condition(statement& to, row_names const& names, item const& key, std::string_view owner)
{
    auto when = key;
    when[std::string(detail::owner_attribute)] = attribute::text(std::string(owner));
    when[names.status] = attribute::text(std::string(detail::in_progress_text));
    char const* before = " WHERE ";
    for (auto& [name, value] : when) {
        to.text += before;
        append_quoted(to.text, name, '"');
        to.text += "=?";
        to.parameters.push_back(std::move(value));
        before = " AND ";
    }
}

/// Inserts the item; fails if there is any row, even an expired one.
statement insert_statement(std::string_view table, item const& whole)
{
    statement out{"INSERT INTO ", {}};
    append_quoted(out.text, table, '"');
    char const* before = " VALUE {";
    for (auto const& [name, value] : whole) {
        out.text += before;
        append_quoted(out.text, name, '\'');
        out.text += ": ?";
        out.parameters.push_back(value);
        before = ", ";
    }
    out.text += '}';
    return out;
}

/// Changes the item of that key where it is in progress and `owner`'s.
statement update_statement(
    std::string_view table, row_names const& names, item const& key, item const& changes, std::string_view owner)
{
    statement out{"UPDATE ", {}};
    append_quoted(out.text, table, '"');
    for (auto const& [name, value] : changes) {
        out.text += " SET ";
        append_quoted(out.text, name, '"');
        out.text += "=?";
        out.parameters.push_back(value);
    }
    append_condition(out, names, key, owner);
    return out;
}

/// Takes it away, on the same condition.
statement delete_statement(std::string_view table, row_names const& names, item const& key, std::string_view owner)
{
    statement out{"DELETE FROM ", {}};
    append_quoted(out.text, table, '"');
    append_condition(out, names, key, owner);
    return out;
}

} // namespace

dynamodb_store::dynamodb_store(
    std::shared_ptr<services::dynamodb> client, dynamodb_store_options options, clock& time)
    : client_(std::move(client)), options_(std::move(options)),
      gathers_(
          options_.linger.count() > 0 ? std::make_shared<detail::gatherer>(client_, time, options_.linger) : nullptr)
{}

item dynamodb_store::key_item(std::string key) const
{
    item out;
    auto const& names = options_.names;
    if (!names.sort_key.empty()) out[names.key] = attribute::text(options_.partition);
    out[names.sort_key.empty() ? names.key : names.sort_key] = attribute::text(std::move(key));
    return out;
}

store_answer dynamodb_store::read(services::write_response said) const
{
    store_answer out;
    out.applied = said.applied;
    if (said.found) out.found = detail::to_record(*said.found, options_.names, options_.as);
    return out;
}

store::answer<std::optional<store_answer>> dynamodb_store::try_in_batch(
    std::string const& key, services::statement what)
{
    std::optional<store_answer> out;
    if (!gathers_) co_return out;
    auto const said = co_await gathers_->carry(key, std::move(what));
    if (!said) co_return said.error();
    if (said->alone) co_return out;
    auto const& entry = said->said;
    bool const is_refused = entry.failed && entry.failed->service_code == "ConditionalCheckFailed";
    if (entry.failed && !is_refused) co_return out;
    services::write_response written;
    written.applied = !entry.failed;
    written.found = entry.found;
    out = read(std::move(written));
    co_return out;
}

/// Reads a row only to learn the service's time from the answer's date. With a wrong clock we would take a valid
/// claim for expired, and others would take ours. Reads twice, because a large difference counts once the next answer
/// confirms it. A refusal has a date too.
store::answer<void> dynamodb_store::learn_the_time(std::string const& key)
{
    for (int i = 0; i < 2; ++i) {
        auto const looked = co_await get(key);
        bool const is_told = looked || (looked.error().code == errc::service_error && !looked.error().retryable);
        if (!is_told) co_return looked.error();
    }
    knows_the_time_ = true;
    co_return result<void>();
}

store::answer<store_answer> dynamodb_store::claim(claim_request r)
{
    if (!knows_the_time_) {
        auto const before = clock_offset();
        auto const learned = co_await learn_the_time(r.key);
        if (!learned) co_return learned.error();
        auto const by = clock_offset() - before;
        r.now += by;
        if (r.row.in_progress_until) *r.row.in_progress_until += by;
    }
    auto row = key_item(r.key);
    row.merge(detail::to_item(r.row, options_.names, options_.as, r.attempt));
    auto insert = insert_statement(options_.table, row); // fails where there is any row, an expired one too
    auto const gathered = co_await try_in_batch(r.key, std::move(insert));
    if (!gathered) co_return gathered.error();
    if (*gathered) co_return **gathered;
    services::put_item_request request(options_.table, std::move(row), when_free(options_.names, r.now));
    auto said = co_await client_->put_item(std::move(request));
    if (!said) co_return said.error();
    co_return read(std::move(*said));
}

/// Changes the row where it is in progress and `owner`'s.
store::answer<store_answer> dynamodb_store::change(std::string key, item changes, std::string owner)
{
    auto together = update_statement(options_.table, options_.names, key_item(key), changes, owner);
    auto const gathered = co_await try_in_batch(key, std::move(together));
    if (!gathered) co_return gathered.error();
    if (*gathered) co_return **gathered;

    auto when = when_mine(options_.names, std::move(owner));
    std::string update;
    for (auto& [name, value] : changes) {
        auto const place = std::to_string(when.names.size()); // "#2 = :2"
        update += (update.empty() ? "SET #" : ", #") + place + " = :" + place;
        when.names['#' + place] = name;
        when.values[':' + place] = std::move(value);
    }
    services::update_item_request request(
        options_.table, key_item(std::move(key)), std::move(update), std::move(when));
    auto said = co_await client_->update_item(std::move(request));
    if (!said) co_return said.error();
    co_return read(std::move(*said));
}

store::answer<store_answer> dynamodb_store::extend(std::string key, record claim)
{
    auto const& names = options_.names;
    auto const until = attribute::number(milliseconds_of(claim.in_progress_until.value_or(claim.expires)));
    item changes{
        {names.in_progress_expiration, until}, {names.expiration, attribute::number(seconds_of(claim.expires))}};
    return change(std::move(key), std::move(changes), std::move(claim.owner));
}

store::answer<store_answer> dynamodb_store::complete(std::string key, record done)
{
    auto changes = detail::to_item(done, options_.names, options_.as);
    changes.erase(std::string(detail::owner_attribute)); // stands there already
    return change(std::move(key), std::move(changes), std::move(done.owner));
}

store::answer<store_answer> dynamodb_store::abandon(std::string key, std::string owner)
{
    auto change = delete_statement(options_.table, options_.names, key_item(key), owner);
    auto const gathered = co_await try_in_batch(key, std::move(change));
    if (!gathered) co_return gathered.error();
    if (*gathered) co_return **gathered;
    services::delete_item_request request(
        options_.table, key_item(std::move(key)), when_mine(options_.names, std::move(owner)));
    auto said = co_await client_->delete_item(std::move(request));
    if (!said) co_return said.error();
    co_return read(std::move(*said));
}

store::answer<std::optional<record>> dynamodb_store::get(std::string key)
{
    services::get_item_request request(options_.table, key_item(std::move(key)));
    auto const said = co_await client_->get_item(std::move(request));
    if (!said) co_return said.error();
    std::optional<record> out;
    if (said->found) out = detail::to_record(*said->found, options_.names, options_.as);
    co_return out;
}

store::answer<bool> dynamodb_store::forget(std::string key)
{
    condition when;
    when.text = "attribute_exists(#id)";
    when.names["#id"] = options_.names.sort_key.empty() ? options_.names.key : options_.names.sort_key;
    services::delete_item_request request(options_.table, key_item(std::move(key)), std::move(when));
    auto const said = co_await client_->delete_item(std::move(request));
    if (!said) co_return said.error();
    co_return said->applied;
}

} // namespace quern::idempotency
