#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::detail::text {

enum class json_kind { null, boolean, number, text, list, object };

/// A value within a JSON text, as it stands there: a number keeps its digits. Good as long as that text.
struct json_value {
    json_kind kind = json_kind::null;
    std::string_view json;

    /// A text without its quotes and escapes; anything else as JSON, without blanks.
    std::string as_text() const;

    /// The first member of an object that has this name.
    std::optional<json_value> member(std::string_view name) const;

    std::vector<json_value> elements() const; ///< of a list
};

/// Answer to a look into a text of somebody else.
struct json_look {
    bool readable = false;           ///< the text is JSON
    std::optional<json_value> found; ///< absent as well where the pointer leads nowhere
};

/// Looks up what a JSON pointer (RFC 6901) leads to; the empty one to the whole. The text is checked to its end
/// (RFC 8259), no deeper than 1,024 levels. Numbers of any size are fine, and so is a byte order mark before it. Not
/// fine: what is no UTF-8, and half of a surrogate pair.
[[nodiscard]] json_look find_json(std::string_view text, std::string_view pointer);

/// The value to which the pointer leads, as_text(), where it is a text, a number, true or false.
[[nodiscard]] std::optional<std::string> find_json_word(std::string_view text, std::string_view pointer);

} // namespace quern::detail::text
