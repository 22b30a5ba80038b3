#pragma once

#include <quern/consumer/detail/message/held.hpp>
#include <quern/consumer/outcome.hpp>

#include <exception>
#include <optional>

namespace quern::detail {

/// How a handler ended.
struct finished {
    held_ptr what;
    std::exception_ptr thrown;
    std::optional<outcome> said; ///< neither: it never began, or
    bool destroyed = false;      ///< its coroutine was destroyed where it waited, with the context that it waited on

    bool has_run() const { return thrown || said || destroyed; }
};

} // namespace quern::detail
