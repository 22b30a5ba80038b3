#pragma once

#include <quern/consumer/outcome.hpp>

#include <exception>
#include <optional>

namespace quern::detail {

/// Whether the exception of a handler says that its message cannot be read.
inline bool is_parse_error(std::exception_ptr const& thrown)
{
    try {
        std::rethrow_exception(thrown);
    } catch (parse_error const&) {
        return true;
    } catch (...) {
        return false;
    }
}

/// Status of a handler_error, or 0.
inline int status_thrown(std::exception_ptr const& thrown)
{
    try {
        std::rethrow_exception(thrown);
    } catch (handler_error const& e) {
        return e.status();
    } catch (...) {
        return 0;
    }
}

/// Outcome that a handler has thrown in place of returning it.
inline std::optional<outcome> outcome_thrown(std::exception_ptr const& thrown)
{
    try {
        std::rethrow_exception(thrown);
    } catch (outcome const& said) {
        return said;
    } catch (...) {
        return {};
    }
}

} // namespace quern::detail
