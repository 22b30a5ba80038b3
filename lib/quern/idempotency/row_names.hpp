#pragma once

#include <string>

namespace quern::idempotency {

/// Names of the attributes in a table, those of Powertools by default.
struct row_names {
    std::string key = "id"; ///< the hash key; with a sort key that is the sort key's value
    std::string sort_key{}; ///< empty: none
    std::string status = "status";
    std::string expiration = "expiration";
    std::string in_progress_expiration = "in_progress_expiration";
    std::string data = "data";
    std::string validation = "validation";
};

} // namespace quern::idempotency
