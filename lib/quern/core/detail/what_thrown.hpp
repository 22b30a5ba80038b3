#pragma once

#include <quern/core/error.hpp>

#include <exception>
#include <string>

namespace quern::detail {

/// Text of an exception; not of null.
inline std::string what_thrown(std::exception_ptr const& thrown)
{
    try {
        std::rethrow_exception(thrown);
    } catch (std::exception const& e) {
        auto const* const text = e.what();
        return text ? text : "an exception without a text"; // nothing keeps others from returning null
    } catch (failure const& f) {
        return describe(f);
    } catch (...) {
        return "an exception that is no std::exception";
    }
}

} // namespace quern::detail
