#pragma once

#include <quern/aws/config/environment.hpp>
#include <quern/aws/config/profile.hpp>

#include <string>
#include <string_view>

namespace quern::aws::detail {

/// Name of the program in requests to AWS: "quern/0.1.0 os/linux app/orders". CloudTrail and AWS's own mails show it.
/// `application`: with a dash for what cannot stand there, 50 characters at most; empty: none.
///
/// Source  AWS SDKs and tools reference guide, "Application ID".
std::string user_agent(std::string_view application);

/// The name of the application: AWS_SDK_UA_APP_ID, sdk_ua_app_id of the profile; empty: none. `profile` may be null.
std::string application_id(environment const&, section const* profile);

} // namespace quern::aws::detail
