#pragma once

#include <quern/idempotency/row_names.hpp>
#include <quern/services/dynamodb_types.hpp>

#include <string>
#include <string_view>

namespace quern::idempotency::detail {

/// Puts an item where none is; one that has expired is in its way.
services::statement insert_statement(std::string_view table, services::item const& whole);

/// Changes the item of that key where it is in progress and `owner`'s.
services::statement update_statement(std::string_view table, row_names const&, services::item const& key,
    services::item const& changes, std::string_view owner);

/// Takes it away, on the same condition.
services::statement delete_statement(
    std::string_view table, row_names const&, services::item const& key, std::string_view owner);

} // namespace quern::idempotency::detail
