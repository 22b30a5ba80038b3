#pragma once

#include <quern/policy/flag.hpp>
#include <quern/services/dynamodb.hpp>

#include <memory>
#include <string>

namespace quern::flags {

/// The item in which a flag stands: its key is "quern#flag#" and the name, so that it can live in a table that
/// remembers keys of idempotent handlers. It has no time to live.
struct flag_item {
    std::string table;
    std::string name;
    std::string attribute = "data"; ///< with a word, JSON, a number or a boolean
    std::string key_name = "id";    ///< of the table's hash key, a string; it has no sort key
    std::string prefix = "quern#flag#";
};

/// A flag in an item of a table. It is read eventually consistent, which costs half a read unit.
///
/// Threads  any: consumers may share it.
std::shared_ptr<policy::flag_source> in_table(std::shared_ptr<services::dynamodb>, flag_item);

} // namespace quern::flags
