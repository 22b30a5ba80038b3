#pragma once

#include <quern/broker/journal.hpp>

#include <string>
#include <string_view>

namespace quern::app {

// What stands in single fields of the rows of a queue_store. Fields of others are read as far as they make sense.

/// Texts in a row, each behind its length and a colon: a key, its value, the next key.
std::string packed(sqs::string_map const&);
sqs::string_map unpacked(std::string_view list);

/// The same of all that most messages do not have; empty where one has none of it.
std::string packed_rest(broker::message_record const&);

/// Sets views of the list, and of `attributes`, which is filled.
void unpack_rest(std::string_view list, broker::message_record& to, sqs::attribute_map& attributes);

} // namespace quern::app
