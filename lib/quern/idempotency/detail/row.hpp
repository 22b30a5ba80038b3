#pragma once

#include <quern/idempotency/key.hpp>
#include <quern/idempotency/row_names.hpp>
#include <quern/idempotency/rule.hpp>
#include <quern/services/dynamodb_types.hpp>

#include <string>
#include <string_view>

namespace quern::idempotency::detail {

inline constexpr std::string_view owner_attribute = "quern_owner";
inline constexpr std::string_view attempt_attribute = "quern_attempt";
inline constexpr std::string_view in_progress_text = "INPROGRESS";

/// A row as the language writes it, without its key. `attempt`: 0 for none.
services::item to_item(record const&, row_names const&, flavour, int attempt = 0);

/// Reads a row, whoever wrote it. One with a status that nobody knows counts as in progress.
record to_record(services::item const&, row_names const&, flavour);

/// JSON as a value of DynamoDB, and back.
services::attribute to_native(std::string_view json);
std::string from_native(services::attribute const&);

} // namespace quern::idempotency::detail
