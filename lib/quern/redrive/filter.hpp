#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>
#include <quern/sqs/message.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace quern::redrive {

/// Whether a message is meant. `unreadable`: nobody knows, since its body cannot be read as JSON, or a number there
/// has an exponent of more than 18 digits; it is not chosen.
enum class match { yes, no, unreadable };

/// A comparison of one part of a message: `attr.type = "legacy"`, `attr.size != 3`, `/order/state = "new"`, `/paid =
/// true`. The value is a string, a number, true, false or null, written as in JSON. Numbers are compared exactly,
/// however many digits they have. A part that the message lacks, or that is of another kind, is not equal; so with !=
/// such a message is chosen.
class predicate {
public:
    match holds(sqs::message const&) const;

private:
    friend result<predicate> parse_where(std::string_view);
    friend result<predicate> parse_where_body(std::string_view);

    struct number {
        std::string exact; // see text::exact_number()
    };
    using literal = std::variant<std::nullptr_t, bool, number, std::string>;

    match equals(sqs::message const&) const;

    bool in_attributes_ = true;
    std::string name_; // of the attribute, or the pointer into the body
    bool negated_ = false;
    literal value_;
};

/// Reads `attr.NAME = VALUE` or `attr.NAME != VALUE`. The failure, errc::invalid_option, says where it stops making
/// sense.
[[nodiscard]] result<predicate> parse_where(std::string_view);

/// Reads `/json/pointer = VALUE` or with != (RFC 6901; the empty pointer, the whole body, is not for comparing).
[[nodiscard]] result<predicate> parse_where_body(std::string_view);

/// A part of a message, by which it can be told from others: `attr.NAME`, or a JSON pointer into its body.
class part {
public:
    /// Absent when the message lacks it. As text: an attribute as it stands there, of the body a string without its
    /// quotes and anything else as JSON, numbers with all their digits.
    struct value {
        std::optional<std::string> text;
        bool readable = true; ///< false: the body is no JSON
    };
    value of(sqs::message const&) const;

    std::string const& text() const { return text_; } ///< as it was read

private:
    friend result<part> parse_part(std::string_view);

    bool in_attributes_ = true;
    std::string name_; // of the attribute, or the pointer into the body
    std::string text_;
};

/// Reads `attr.NAME` or `/json/pointer`. The failure, errc::invalid_option, says where it stops making sense.
[[nodiscard]] result<part> parse_part(std::string_view);

/// Messages that a run is about; all conditions hold.
struct filter {
    std::vector<predicate> where;
    std::optional<wall_time> since; ///< of the first sending: SentTimestamp. From this moment on
    std::optional<wall_time> until; ///< before this moment
    std::string id;                 ///< the message with this id
    std::string reason;             ///< those whose attribute QuernReason is this text
    std::string group;              ///< those of this message group

    /// `unreadable` only where no other condition excludes the message.
    match chooses(sqs::message const&) const;
    bool chooses_all() const;
};

/// Reads "2026-01-02T03:04:05Z" or, as so long before `now`, "90s", "15m", "2h", "3d".
[[nodiscard]] result<wall_time> parse_moment(std::string_view, wall_time now);

} // namespace quern::redrive
