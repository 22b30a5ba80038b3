#pragma once

#include <quern/core/error.hpp>

namespace quern::detail {

/// The first failure, and what came of trying again.
inline failure and_then(failure first, failure const& last)
{
    first.message += "; then " + last.message;
    return first;
}

} // namespace quern::detail
