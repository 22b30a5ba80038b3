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

/// A comparison of one part of a message: `attr.type = "legacy"`, `attr.size != 3`, `/order/state = "new"`, `/paid =
/// true`. The value is a string, a number, true, false or null, written as in JSON. A part that the message lacks, or
/// that is of another kind, is not equal; so with != such a message is chosen, and so is one whose body is no JSON.
class predicate {
public:
    bool holds(sqs::message const&) const;

private:
    friend result<predicate> parse_where(std::string_view);
    friend result<predicate> parse_where_body(std::string_view);

    using literal = std::variant<std::nullptr_t, bool, double, std::string>;

    bool in_attributes_ = true;
    std::string name_; // of the attribute, or the pointer into the body
    bool negated_ = false;
    literal value_;
};

/// Reads `attr.NAME = VALUE` or `attr.NAME != VALUE`. The failure, errc::invalid_option, says where it stops making
/// sense.
result<predicate> parse_where(std::string_view);

/// Reads `/json/pointer = VALUE` or with != (RFC 6901; the empty pointer, the whole body, is not for comparing).
result<predicate> parse_where_body(std::string_view);

/// A part of a message, by which it can be told from others: `attr.NAME`, or a JSON pointer into its body.
class part {
public:
    /// The value as text: of an attribute as it stands there, of the body a string without its quotes and anything
    /// else as JSON. Absent when the message lacks it, or the body is no JSON.
    std::optional<std::string> of(sqs::message const&) const;

    std::string const& text() const { return text_; } ///< as it was read

private:
    friend result<part> parse_part(std::string_view);

    bool in_attributes_ = true;
    std::string name_; // of the attribute, or the pointer into the body
    std::string text_;
};

/// Reads `attr.NAME` or `/json/pointer`. The failure, errc::invalid_option, says where it stops making sense.
result<part> parse_part(std::string_view);

/// Messages that a run is about; all conditions hold.
struct filter {
    std::vector<predicate> where;
    std::optional<wall_time> since; ///< of the first sending: SentTimestamp. From this moment on
    std::optional<wall_time> until; ///< before this moment
    std::string id;                 ///< the message with this id
    std::string reason;             ///< those whose attribute QuernReason is this text
    std::string group;              ///< those of this message group

    bool chooses(sqs::message const&) const;
    bool chooses_all() const;
};

/// Reads "2026-01-02T03:04:05Z" or, as so long before `now`, "90s", "15m", "2h", "3d".
result<wall_time> parse_moment(std::string_view, wall_time now);

} // namespace quern::redrive
