#pragma once

#include <quern/core/error.hpp>

#include <boost/assert/source_location.hpp>

#include <optional>

namespace quern::detail {

/// Throws boost::system::system_error for the first setting that cannot work, where there is one.
inline void throw_wrong(
    std::optional<failure> const& first, boost::source_location const& where = BOOST_CURRENT_LOCATION)
{
    if (first) throw_exception_from_error(*first, where);
}

} // namespace quern::detail
