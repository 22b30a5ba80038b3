#include <quern/aws/config/clear_text.hpp>

namespace quern::aws {
namespace {

/// Unique identifiers of IAM: AKIA stands for long-term keys, ASIA for temporary ones. Ends in EXAMPLE: its
/// documentation's.
bool may_be_real(std::string_view access_key_id)
{
    bool const is_of_iam = access_key_id.starts_with("AKIA") || access_key_id.starts_with("ASIA");
    return access_key_id.empty() || (is_of_iam && access_key_id.size() >= 16 && !access_key_id.ends_with("EXAMPLE"));
}

} // namespace

std::optional<std::string> clear_text_warning(net::endpoint const& at, std::string_view access_key_id)
{
    if (at.tls || net::is_this_machine(at.host) || !may_be_real(access_key_id)) return {};
    return at.origin() +
        " is not encrypted: whoever listens on the way reads messages and session tokens; use https there, or keys "
        "that "
        "are worth nothing elsewhere";
}

} // namespace quern::aws
