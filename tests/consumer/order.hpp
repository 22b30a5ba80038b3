#pragma once

#include <quern/consumer/json.hpp>

#include <cstdint>
#include <string>

namespace quern::test {

/// Content of a message, for typed handlers.
struct order {
    std::string item;
    std::int64_t count = 0;
};

inline order decode(json_document& d)
{
    return {json_member<std::string>(d, "item"), json_member<std::int64_t>(d, "count")};
}

} // namespace quern::test
