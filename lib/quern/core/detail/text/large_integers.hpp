#pragma once

#include <string>
#include <string_view>

namespace quern::detail::text {

/// The same JSON with each integer that fits into no 64 bits as a text: `mark` and its digits. RFC 8259 sets numbers
/// no limit (6), simdjson refuses the whole text for one such. `mark` stands there as it is, so it is escaped if it
/// has to be. What is no JSON stays none. For those who write a tree anew: see json_find.hpp for a look at one value.
std::string with_large_integers_as_texts(std::string_view json, std::string_view mark = {});

} // namespace quern::detail::text
