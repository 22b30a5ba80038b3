#pragma once

#include <quern/core/error.hpp>
#include <quern/sqs/types.hpp>

#include <string>
#include <string_view>

namespace quern::broker {

/// AddPermission on a queue's Policy, "" for none: the new policy, with one statement more.
[[nodiscard]] result<std::string> add_permission(
    std::string_view policy, std::string_view queue_arn, sqs::add_permission_request const&);

/// RemovePermission: the new policy, "" when no statement is left.
[[nodiscard]] result<std::string> remove_permission(std::string_view policy, std::string_view label);

} // namespace quern::broker
