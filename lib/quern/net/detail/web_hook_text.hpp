#pragma once

#include <quern/net/web_hook.hpp>

#include <string>

namespace quern::net::detail {

/// The request as it goes over the wire; problem_of() must have found nothing.
std::string wire_text(web_hook_request const&);

} // namespace quern::net::detail
