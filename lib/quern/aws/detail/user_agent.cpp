#include <quern/aws/detail/user_agent.hpp>

namespace quern::aws::detail {
namespace {

#if defined(__linux__)
constexpr std::string_view system_name = "linux";
#elif defined(__APPLE__)
constexpr std::string_view system_name = "macos";
#else
constexpr std::string_view system_name = "other";
#endif

/// RFC 9110, 5.6.2: a token.
bool may_stand(char c)
{
    bool const is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return is_letter || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

} // namespace

std::string user_agent(std::string_view application)
{
    constexpr std::size_t longest = 50;
    std::string out = "quern/" QUERN_VERSION " os/";
    out += system_name;
    if (application.empty()) return out;
    out += " app/";
    for (char const c : application.substr(0, longest))
        out += may_stand(c) ? c : '-';
    return out;
}

std::string application_id(environment const& variable, section const* profile)
{
    auto out = variable("AWS_SDK_UA_APP_ID");
    if (out.empty() && profile) out = profile->get("sdk_ua_app_id");
    return out;
}

} // namespace quern::aws::detail
