#pragma once

#include <quern/aws/config/profile.hpp>
#include <quern/aws/credentials/credentials.hpp>

#include <optional>
#include <string_view>

namespace quern::aws::detail {

/// The members of a JSON object that are texts or whole numbers, names in lower case; others are left out. With
/// `inside`, of the object that this member is. Nothing when the text is not one JSON object, or has no such member.
std::optional<section> read_flat_json(std::string_view text, std::string_view inside = {});

/// The time at which credentials end: RFC 3339 with all that text::parse_rfc3339() takes, or milliseconds or seconds
/// since 1970. Every reader of such a time calls this one, so what one source may write, all may.
std::optional<wall_time> end_in(std::string_view);

/// The credentials that such an object holds, as containers, instances, processes and SSO write them: AccessKeyId,
/// SecretAccessKey, Token or SessionToken, Expiration, AccountId.
///
/// `whose`: names the source in errors; they show nothing of the object but its Code and Message.
///
/// Fails with  errc::no_credentials  it holds none; it says that something went wrong; a part is missing or unusable
[[nodiscard]] result<credentials> credentials_in(section const&, std::string_view whose);

/// Both in one; `text` that is no object is an error as well.
[[nodiscard]] result<credentials> credentials_in_json(
    std::string_view text, std::string_view whose, std::string_view inside = {});

} // namespace quern::aws::detail
