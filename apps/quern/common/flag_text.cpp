#include "common/flag_text.hpp"

#include <quern/flags/detail/pointed_at.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace quern::app {

namespace {

using kind = flag_place::kind;

struct form {
    std::string_view prefix;
    kind where;
    char const* rest;
};
constexpr std::array<form, 5> forms{
    {{"file:", kind::file, "PATH"}, {"ssm:", kind::parameter, "NAME"}, {"ddb:", kind::item, "TABLE/KEY[#attribute]"},
        {"appconfig:", kind::configuration, "APP/ENV/PROFILE[#/json/pointer]"},
        {"appconfig-agent:", kind::agent, "APP/ENV/PROFILE[#/json/pointer]"}}};

/// Key of a flag's item, which may be written in full: that of a row in the table of idempotent handlers.
constexpr std::string_view item_prefix = "quern#flag#";

void read_item(std::string_view rest, flag_place& to)
{
    auto const arn = rest.starts_with("arn:") ? rest.find('/') + 1 : 0; // arn:aws:dynamodb:…:table/NAME
    auto const slash = rest.find('/', arn);
    if (slash == rest.npos) return;
    to.path.emplace_back(rest.substr(0, slash));
    auto key = rest.substr(slash + 1);
    if (key.starts_with(item_prefix)) key.remove_prefix(item_prefix.size());
    auto const hash = key.rfind('#');
    to.path.emplace_back(key.substr(0, hash));
    if (hash != key.npos) to.part = key.substr(hash + 1);
    if (hash != key.npos && to.part.empty()) to.path.clear();
}

void read_configuration(std::string_view rest, flag_place& to)
{
    auto const hash = std::min(rest.find('#'), rest.size());
    if (hash != rest.size()) to.part = rest.substr(hash + 1);
    for (auto names = rest.substr(0, hash);;) {
        auto const slash = names.find('/');
        to.path.emplace_back(names.substr(0, slash));
        if (slash == names.npos) break;
        names.remove_prefix(slash + 1);
    }
    if (to.path.size() != 3) to.path.clear();
}

failure wrong(std::string const& text, std::string const& why)
{
    return {errc::invalid_option, '"' + text + "\" is no flag: " + why};
}

} // namespace

result<flag_place> parse_flag(std::string const& text)
{
    auto const like = [&](form const& f) { return text.starts_with(f.prefix); };
    auto const found = std::ranges::find_if(forms, like);
    if (found == forms.end()) return wrong(text, flag_forms);
    auto const rest = std::string_view(text).substr(found->prefix.size());
    bool const is_configuration = found->where == kind::configuration || found->where == kind::agent;
    flag_place out;
    out.where = found->where;
    if (found->where == kind::item)
        read_item(rest, out);
    else if (is_configuration)
        read_configuration(rest, out);
    else
        out.path.emplace_back(rest);
    bool const has_all = !out.path.empty() && std::ranges::none_of(out.path, &std::string::empty);
    if (!has_all) return wrong(text, std::string(found->prefix) + found->rest);
    bool const has_part = is_configuration && rest.find('#') != rest.npos;
    if (auto const why = has_part ? flags::detail::check_pointer(out.part) : std::string(); !why.empty())
        return wrong(text, why);
    return out;
}

} // namespace quern::app
