#include <quern/consumer/detail/intake/patience.hpp>

#include <algorithm>
#include <string_view>

namespace quern::detail {

namespace {

// By their ends: some are qualified, "AWS.SimpleQueueService.NonExistentQueue", or end in Exception.
constexpr std::string_view refusals[] = {"NonExistentQueue", "QueueDoesNotExist", "AccessDenied", "InvalidAddress",
    "InvalidClientTokenId", "UnrecognizedClient", "SignatureDoesNotMatch", "InvalidSignature", "IncompleteSignature",
    "InvalidAccessKeyId", "ExpiredToken", "MissingAuthenticationToken", "OptInRequired", "InvalidSecurity"};

} // namespace

bool is_refusal(failure const& why)
{
    if (why.retryable) return false;
    if (why.code == errc::no_credentials) return true;
    std::string_view code = why.service_code;
    if (code.ends_with("Exception")) code.remove_suffix(std::string_view("Exception").size());
    return std::ranges::any_of(refusals, [&](auto end) { return code.ends_with(end); });
}

} // namespace quern::detail
