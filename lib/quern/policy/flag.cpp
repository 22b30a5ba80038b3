#include <quern/policy/flag.hpp>

#include <quern/core/detail/text/characters.hpp>
#include <quern/core/detail/text/json_find.hpp>

#include <algorithm>
#include <array>

namespace quern::policy {

using namespace quern::detail;

boost::asio::awaitable<result<void>> flag_source::write(std::string)
{
    co_return failure(errc::invalid_option, name() + ": a flag there cannot be written from here");
}

using namespace std::chrono_literals;

namespace {

constexpr std::size_t longest_word = 64 * 1024; // AppConfig allows 2 MB, for configurations; a flag is a word

bool is_one_of(std::string_view word, std::array<std::string_view, 5> const& words)
{
    return std::ranges::any_of(words, [&](std::string_view each) { return text::equal_ignoring_case(word, each); });
}

flag_word word_of(std::string_view text)
{
    if (is_one_of(text, {"open", "halt", "true", "1", "on"})) return flag_word::halt;
    if (is_one_of(text, {"closed", "run", "false", "0", "off"})) return flag_word::run;
    return flag_word::unknown;
}

flag_word value_of(text::json_value const& value)
{
    if (auto const enabled = value.member("enabled"); enabled && enabled->kind != text::json_kind::object)
        return value_of(*enabled);
    return word_of(value.as_text());
}

flag_word member_of(text::json_value const& object, std::string_view name)
{
    if (!name.empty()) {
        auto const value = object.member(name);
        return value ? value_of(*value) : flag_word::unknown;
    }
    std::optional<flag_word> out;
    for (std::string_view const usual : {"open", "isOpen", "halted"}) {
        auto const value = object.member(usual);
        if (!value) continue;
        auto const says = value_of(*value);
        out = !out || *out == says ? says : flag_word::unknown;
    }
    return out.value_or(flag_word::unknown);
}

} // namespace

flag_word read_flag(std::string_view text, std::string_view name)
{
    if (text.size() > longest_word) return flag_word::unknown;
    constexpr std::string_view blanks = " \t\r\n", byte_order_mark = "\xef\xbb\xbf"; // some editors write one
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    auto const begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return flag_word::unknown;
    text = text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
    if (text.front() != '{') return word_of(text);
    auto const object = text::find_json(text, "").found;
    return object ? member_of(*object, name) : flag_word::unknown;
}

std::optional<failure> flag_options::validate() const
{
    auto const wrong = [](char const* what) { return failure(errc::invalid_option, what); };
    if (interval < 1s || interval > 1h) return wrong("flag.interval must be from 1 s to 1 h");
    if (max_age < interval || max_age > 24h) return wrong("flag.max_age must be from flag.interval to 24 h");
    return {};
}

} // namespace quern::policy
