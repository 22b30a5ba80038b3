#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quern::idempotency::detail {

/// The JSON text of what a JSON pointer finds; nothing where it finds nothing or null, and where the body is no JSON.
/// Nothing as well where that value has a number that no double comes near, like 1e400; and for the empty pointer,
/// where the body begins with a byte order mark.
std::optional<std::string> json_at(std::string_view body, std::string_view pointer);

// The text that Powertools hashes for a value. `json` is valid, or it is taken as it is.

/// `json.dumps(data, sort_keys=True)`: ", " and ": " between, all that is not ASCII as \uXXXX.
std::string as_python(std::string_view json);

/// `JSON.stringify(deepSort(data))`: keys sorted without regard to case.
std::string as_typescript(std::string_view json);

/// `JsonNode.toString()` of objects and lists, their order kept; a text without its quotes.
std::string as_java(std::string_view json);

/// As compact JSON, keys sorted by their bytes.
std::string as_quern(std::string_view json);

} // namespace quern::idempotency::detail
