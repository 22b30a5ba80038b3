#include <quern/flags/detail/pointed_at.hpp>

#include <simdjson.h>

namespace quern::flags {

namespace dom = simdjson::dom;

result<std::string> pointed_at(std::string_view text, std::string_view pointer)
{
    if (pointer.empty()) return std::string(text);
    dom::parser parser;
    dom::element all, found, enabled;
    if (parser.parse(simdjson::padded_string(text)).get(all) != simdjson::SUCCESS)
        return failure(errc::bad_reply, "it is no JSON, in which " + std::string(pointer) + " could be looked for");
    if (all.at_pointer(pointer).get(found) != simdjson::SUCCESS)
        return failure(errc::bad_reply, "it has nothing at " + std::string(pointer));
    std::string_view word;
    if (found.get(word) == simdjson::SUCCESS) return std::string(word);
    if (found.is_object() && found.at_key("enabled").get(enabled) == simdjson::SUCCESS) {
        std::string const flag = simdjson::minify(found);
        return "{\"open\":" + flag + ',' + flag.substr(1); // as feature flags are; its members for whoever names one
    }
    return std::string(simdjson::minify(found));
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

} // namespace quern::flags
