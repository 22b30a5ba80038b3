#include <quern/policy/flag.hpp>

#include <simdjson.h>

#include <algorithm>
#include <array>

namespace quern::policy {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t longest = 64 * 1024; // AppConfig allows 2 MB, for configurations; a flag is a word

bool is_one_of(std::string_view word, std::array<std::string_view, 5> const& words)
{
    auto const same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; };
    return std::ranges::any_of(words, [&](std::string_view each) { return std::ranges::equal(word, each, same); });
}

flag_word word_of(std::string_view text)
{
    if (is_one_of(text, {"open", "halt", "true", "1", "on"})) return flag_word::halt;
    if (is_one_of(text, {"closed", "run", "false", "0", "off"})) return flag_word::run;
    return flag_word::unknown;
}

flag_word value_of(simdjson::dom::element value)
{
    bool yes = false;
    std::int64_t number = 0;
    std::string_view text;
    simdjson::dom::element enabled;
    if (value.get(yes) == simdjson::SUCCESS) return yes ? flag_word::halt : flag_word::run;
    if (value.get(number) == simdjson::SUCCESS) return word_of(std::to_string(number));
    if (value.get(text) == simdjson::SUCCESS) return word_of(text);
    if (value.is_object() && value.at_key("enabled").get(enabled) == simdjson::SUCCESS && !enabled.is_object())
        return value_of(enabled);
    return flag_word::unknown;
}

flag_word member_of(simdjson::dom::element object, std::string_view name)
{
    simdjson::dom::element value;
    if (!name.empty()) {
        auto const found = object.at_key(name).get(value) == simdjson::SUCCESS;
        return found ? value_of(value) : flag_word::unknown;
    }
    std::optional<flag_word> out;
    for (std::string_view const usual : {"open", "isOpen", "halted"}) {
        if (object.at_key(usual).get(value) != simdjson::SUCCESS) continue;
        auto const says = value_of(value);
        out = !out || *out == says ? says : flag_word::unknown;
    }
    return out.value_or(flag_word::unknown);
}

} // namespace

flag_word read_flag(std::string_view text, std::string_view name)
{
    if (text.size() > longest) return flag_word::unknown;
    constexpr std::string_view blanks = " \t\r\n";
    auto const begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return flag_word::unknown;
    text = text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
    if (text.front() != '{') return word_of(text);
    simdjson::dom::parser parser;
    simdjson::dom::element object;
    if (parser.parse(simdjson::padded_string(text)).get(object) != simdjson::SUCCESS) return flag_word::unknown;
    return member_of(object, name);
}

std::optional<failure> flag_options::validate() const
{
    auto const wrong = [](char const* what) { return failure(errc::invalid_option, what); };
    if (interval < 1s || interval > 1h) return wrong("flag.interval must be from 1 s to 1 h");
    if (max_age < interval || max_age > 24h) return wrong("flag.max_age must be from flag.interval to 24 h");
    return {};
}

} // namespace quern::policy
