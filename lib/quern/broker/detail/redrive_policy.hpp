#pragma once

#include <quern/broker/detail/settings.hpp>

namespace quern::broker::detail {

/// {"deadLetterTargetArn": "…", "maxReceiveCount": 1 to 1000, a number or a numeric string}
[[nodiscard]] result<redrive_policy> parse_redrive_policy(std::string_view json);

/// {"redrivePermission": "allowAll" | "denyAll" | "byQueue", "sourceQueueArns": [1 to 10, with byQueue alone]}
[[nodiscard]] result<redrive_allow_policy> parse_redrive_allow_policy(std::string_view json);

std::string to_json(redrive_policy const&);
std::string to_json(redrive_allow_policy const&);

} // namespace quern::broker::detail
