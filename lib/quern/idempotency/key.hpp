#pragma once

#include <quern/consumer/delivery.hpp>
#include <quern/core/error.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::idempotency {

/// Writers whose rows ours are like, byte for byte, so that both may work on one table. The languages of Powertools
/// share no keys among themselves.
enum class flavour { quern, python, typescript, java };
std::string_view name_of(flavour);
std::optional<flavour> flavour_named(std::string_view);

/// Values that a key is made of, as JSON: texts are quoted, numbers and words are as the body has them.
struct key_source {
    enum class kind {
        message_id,       ///< the id on the queue where the message was first; a producer that sends twice makes two
        deduplication_id, ///< of a FIFO queue
        attribute,        ///< the message attribute `names` has
        body,             ///< what the JSON pointers `names` find in the body; several make a list
        whole_body,       ///< all of it, as a text unless it is JSON
        function,
    };
    kind what = kind::message_id;
    std::vector<std::string> names{};
    std::function<std::string(delivery const&)> make{}; ///< a text, which is hashed like one

    /// "message-id", "deduplication-id", "attribute:NAME", "body:/json/pointer" (several joined by commas), "body".
    ///
    /// Fails with  errc::invalid_option  anything else
    [[nodiscard]] static result<key_source> parse(std::string_view);

    /// The JSON text of what it finds; nothing where the message has no such thing.
    std::optional<std::string> value_in(delivery const&) const;

    /// Finds what tells messages apart: value_in(), unless that is an empty text, list or object, null, or a list of
    /// nulls. With several pointers none of them may find such a thing.
    std::optional<std::string> key_in(delivery const&) const;
};

/// `prefix#digest` of the value, as that language writes it. `json`: from key_source::key_in().
std::string make_key(flavour, std::string_view prefix, std::string_view json);

/// The digest alone: for the validation of a payload.
std::string digest_of(flavour, std::string_view json);

/// The text that a language hashes for a JSON value.
std::string text_to_hash(flavour, std::string_view json);

} // namespace quern::idempotency
