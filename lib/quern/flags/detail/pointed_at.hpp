#pragma once

#include <quern/core/error.hpp>

#include <string>
#include <string_view>

namespace quern::flags::detail {

/// The value to which a JSON pointer (RFC 6901) leads, as policy::read_flag() takes it; the body itself without one.
///
/// Fails with  errc::bad_reply  no JSON, or nothing there
[[nodiscard]] result<std::string> pointed_at(std::string_view body, std::string_view pointer);

/// Complaint about a pointer; empty when it is one.
std::string check_pointer(std::string_view pointer);

} // namespace quern::flags::detail
