#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quern::relay::detail {

/// Value that a JSON Pointer finds in a text, as text: a string without its quotes, a number or a word as it is
/// written. Nothing for an object, a list or null, where nothing is found, and where the text is no JSON.
std::optional<std::string> json_find(std::string_view text, std::string_view pointer);

/// The text is JSON, whole.
bool is_json(std::string_view text);

} // namespace quern::relay::detail
