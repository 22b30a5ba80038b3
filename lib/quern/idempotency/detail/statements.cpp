#include <quern/idempotency/detail/statements.hpp>

#include <quern/idempotency/detail/row.hpp>

namespace quern::idempotency::detail {
namespace {

using services::attribute;
using services::item;
using services::statement;

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
    when[std::string(owner_attribute)] = attribute::text(std::string(owner));
    when[names.status] = attribute::text(std::string(in_progress_text));
    char const* before = " WHERE ";
    for (auto& [name, value] : when) {
        to.text += before;
        append_quoted(to.text, name, '"');
        to.text += "=?";
        to.parameters.push_back(std::move(value));
        before = " AND ";
    }
}

} // namespace

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

statement delete_statement(std::string_view table, row_names const& names, item const& key, std::string_view owner)
{
    statement out{"DELETE FROM ", {}};
    append_quoted(out.text, table, '"');
    append_condition(out, names, key, owner);
    return out;
}

} // namespace quern::idempotency::detail
