#include <quern/flags/detail/pointed_at.hpp>

#include <quern/core/detail/text/json_find.hpp>

namespace quern::flags::detail {

using namespace quern::detail;

result<std::string> pointed_at(std::string_view body, std::string_view pointer)
{
    if (pointer.empty()) return std::string(body);
    auto const look = text::find_json(body, pointer);
    if (!look.readable)
        return failure(errc::bad_reply, "it is no JSON, in which " + std::string(pointer) + " could be looked for");
    if (!look.found) return failure(errc::bad_reply, "it has nothing at " + std::string(pointer));
    auto const flag = look.found->as_text();
    if (!look.found->member("enabled")) return flag;
    return "{\"open\":" + flag + ',' + flag.substr(1); // as feature flags are; its members for whoever names one
}

std::string check_pointer(std::string_view pointer)
{
    if (pointer.empty() || pointer.front() != '/') return "a JSON pointer begins with a slash: #/orders/halt";
    for (std::size_t at = pointer.find('~'); at != pointer.npos; at = pointer.find('~', at + 1)) {
        if (at + 1 == pointer.size() || (pointer[at + 1] != '0' && pointer[at + 1] != '1'))
            return "in a JSON pointer ~ is written ~0, and / in a name ~1";
    }
    return {};
}

} // namespace quern::flags::detail
