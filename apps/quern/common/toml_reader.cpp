#define TOML_IMPLEMENTATION
#include "common/toml_reader.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace quern::app {
namespace {

constexpr int most_parts = 1024; // each takes some of the stack (its pull request 242)

/// The first line with more dots in a row than that, outside of quotes; 0: none.
std::size_t line_of_endless_key(std::string_view document)
{
    std::size_t line = 1;
    int dots = 0;
    char quote = 0;
    for (char const c : document) {
        if (c == '\n') {
            ++line;
            quote = 0;
            dots = 0;
        } else if (quote != 0) {
            if (c == quote) quote = 0;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '.') {
            if (++dots > most_parts) return line;
        } else if (c == ',' || c == '=' || c == '[' || c == '{') {
            dots = 0;
        }
    }
    return 0;
}

} // namespace

toml::table toml_reader::parse(std::string_view document) const
{
    if (auto const line = line_of_endless_key(document))
        throw complaint{fmt::format("{}:{}: has a key of more than {} parts", file_, line, most_parts)};
    auto parsed = toml::parse(document, file_);
    if (parsed) return std::move(parsed).table();
    auto const& error = parsed.error();
    throw complaint{fmt::format("{}: is no TOML: {}", spot(error.source()), error.description())};
}

std::string toml_reader::spot(toml::source_region const& at) const
{
    return fmt::format("{}:{}:{}", file_, at.begin.line, at.begin.column);
}

std::string toml_reader::place(toml::source_region const& at, std::string_view key) const
{
    return fmt::format("{}: {}", spot(at), key);
}

void toml_reader::refuse(toml::source_region const& at, std::string_view key, std::string_view why) const
{
    throw complaint{fmt::format("{} {}", place(at, key), why)};
}

toml::table const& toml_reader::table(toml::node const& node, std::string_view key, std::string_view form) const
{
    if (!node.is_table()) refuse(node.source(), key, fmt::format("must be a table, {}", form));
    return *node.as_table();
}

std::string toml_reader::text(toml::node const& node, std::string_view key) const
{
    if (!node.is_string()) refuse(node.source(), key, "must be a text in quotes");
    return node.as_string()->get();
}

std::int64_t toml_reader::number(
    toml::node const& node, std::string_view key, std::int64_t least, std::int64_t most) const
{
    auto const value = node.is_integer() ? node.as_integer()->get() : least - 1;
    if (value < least || value > most)
        refuse(node.source(), key, fmt::format("must be a whole number from {} to {}", least, most));
    return value;
}

std::string toml_reader::simple(toml::node const& node, std::string_view key) const
{
    if (node.is_integer()) return std::to_string(node.as_integer()->get());
    if (node.is_boolean()) return node.as_boolean()->get() ? "true" : "false";
    if (!node.is_string()) refuse(node.source(), key, "must be a text, a whole number, true or false");
    return node.as_string()->get();
}

result<std::string> text_of_file(std::string_view option, std::string const& path)
{
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf(); // of an empty one nothing is written, which is no failure
    std::error_code ec;
    if (file.is_open() && !std::filesystem::is_directory(path, ec)) return text.str();
    return failure(errc::invalid_option, fmt::format("{} {}: cannot be read", option, path));
}

} // namespace quern::app
