#pragma once

#include <boost/json/object.hpp>

#include <string>

namespace quern::app {

/// The picture that a program shows at /explain, as some lines for a terminal. Rates are those since the picture
/// `before`; none while that is empty. Holds no control characters but line ends.
///
/// Throws  boost::system::system_error or std::exception when it is no such picture.
std::string top_text(boost::json::object const& before, boost::json::object const& now);

} // namespace quern::app
