#include <quern/aws/config/profile.hpp>
#include <quern/core/detail/text/characters.hpp>
#include <quern/core/detail/text/trimmed.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace quern::aws {

using namespace quern::detail;

namespace {

constexpr std::string_view blanks = " \t\r\v\f";

bool is_blank(char c)
{
    return blanks.find(c) != blanks.npos;
}

bool begins_comment(char c)
{
    return c == '#' || c == ';';
}

/// Up to a comment that white space separates from what stands before.
std::string_view without_comment(std::string_view line)
{
    for (std::size_t i = 1; i < line.size(); ++i) {
        if (begins_comment(line[i]) && is_blank(line[i - 1])) return line.substr(0, i);
    }
    return line;
}

bool is_name(std::string_view text)
{
    constexpr std::string_view others = "-_/.%@:+";
    auto const allowed = [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            others.find(c) != others.npos;
    };
    return !text.empty() && std::ranges::all_of(text, allowed);
}

struct property {
    std::string_view name, value;
};

std::optional<property> split(std::string_view line)
{
    line = without_comment(line);
    auto const equals = line.find('=');
    if (equals == line.npos) return {};
    return property{text::trimmed(line.substr(0, equals), blanks), text::trimmed(line.substr(equals + 1), blanks)};
}

/// Takes one file line by line.
class reader {
public:
    enum class kind { config, credentials };

    explicit reader(kind k) : kind_(k) {}

    /// Reads the line; returns the fault in it, if there is one.
    char const* take(std::string_view line)
    {
        if (text::trimmed(line, blanks).empty() || begins_comment(line.front())) return nullptr;
        if (line.front() == '[') return open_section(line);
        if (is_blank(line.front())) return continue_property(text::trimmed(line, blanks));
        return begin_property(line);
    }

    /// "[profile default]" puts "[default]" out of force, wherever they stand.
    shared_config finish()
    {
        if (plain_default_) found_.profiles.try_emplace("default", std::move(*plain_default_));
        return std::move(found_);
    }

private:
    char const* open_section(std::string_view line)
    {
        line = text::trimmed(line.substr(0, line.find_first_of("#;")), blanks);
        if (line.back() != ']') return "the definition of a section must end with ']'";
        section_ = &named(text::trimmed(line.substr(1, line.size() - 2), blanks));
        value_ = nullptr;
        return nullptr;
    }

    section& named(std::string_view title)
    {
        if (kind_ == kind::credentials) return is_name(title) ? found_.profiles[std::string(title)] : ignored_;
        if (title == "default") return plain_default_ ? *plain_default_ : plain_default_.emplace();
        auto const blank = std::min(title.find_first_of(blanks), title.size());
        auto const word = title.substr(0, blank);
        std::string const name(text::trimmed(title.substr(blank), blanks));
        if (!is_name(name)) return ignored_;
        if (word == "profile") return found_.profiles[name];
        if (word == "sso-session") return found_.sso_sessions[name];
        if (word == "services") return found_.services[name];
        return ignored_;
    }

    char const* begin_property(std::string_view line)
    {
        if (!section_) return "expected the definition of a section, like [default]";
        auto const said = split(line);
        if (!said) return "expected an '=' sign that defines a property";
        if (said->name.empty()) return "the property has no name";
        auto& in = is_name(said->name) ? *section_ : ignored_;
        value_ = &(in.values[text::lower_case(said->name)] = said->value);
        is_nested_ = said->value.empty();
        return nullptr;
    }

    char const* continue_property(std::string_view line)
    {
        if (!section_) return "expected the definition of a section, like [default]";
        if (!value_) return "expected a property before its continuation: an indented line continues the one above";
        if (is_nested_) {
            if (begins_comment(line.front())) return nullptr;
            auto const said = split(line);
            if (!said) return "expected an '=' sign that defines a nested property";
            if (said->name.empty()) return "the nested property has no name";
        }
        value_->append("\n").append(line);
        return nullptr;
    }

    kind kind_;
    shared_config found_;
    std::optional<section> plain_default_;
    section ignored_;
    section* section_ = nullptr;
    std::string* value_ = nullptr; // of the property that a continuation would continue
    bool is_nested_ = false;       // it has no value of its own, so what continues it are properties
};

result<shared_config> parse(shared_file const& file, reader::kind kind)
{
    reader in(kind);
    std::string_view rest = file.text;
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (rest.starts_with(byte_order_mark)) rest.remove_prefix(byte_order_mark.size());
    for (int number = 1; !rest.empty(); ++number) {
        auto const end = std::min(rest.find('\n'), rest.size());
        if (auto const* const wrong = in.take(rest.substr(0, end))) {
            return failure(errc::invalid_option, file.path + ", line " + std::to_string(number) + ": " + wrong);
        }
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return in.finish();
}

std::string in_home(std::string path, std::string const& home)
{
    return path.starts_with("~/") ? home + path.substr(1) : path;
}

/// Empty when there is no such file.
result<shared_file> read_if_there(std::string path, file_system& files)
{
    auto text = files.read(path);
    if (text) return shared_file{std::move(path), std::move(*text)};
    auto const& code = text.error().code;
    if (code == std::errc::no_such_file_or_directory || code == std::errc::not_a_directory) {
        return shared_file{std::move(path), {}};
    }
    return failure(errc::invalid_option, path + " cannot be read: " + code.message());
}

} // namespace

section shared_config::service(section const& profile, std::string_view name) const
{
    auto const* const named = find(services, profile.get("services"));
    return named ? nested_in(named->get(name)) : section();
}

section nested_in(std::string_view value)
{
    section out;
    while (!value.empty()) {
        auto const end = std::min(value.find('\n'), value.size());
        if (auto const said = split(value.substr(0, end)); said && !said->name.empty()) {
            out.values[text::lower_case(said->name)] = said->value;
        }
        value.remove_prefix(std::min(end + 1, value.size()));
    }
    return out;
}

result<shared_config> parse_shared_config(shared_file const& config, shared_file const& credentials)
{
    auto out = parse(config, reader::kind::config);
    if (!out) return out;
    auto over = parse(credentials, reader::kind::credentials);
    if (!over) return over;
    for (auto& [name, profile] : over->profiles) {
        auto& into = out->profiles[name];
        for (auto& [key, value] : profile.values)
            into.values[key] = std::move(value);
    }
    return out;
}

shared_file_locations locate_shared_files(environment const& variable)
{
    auto const home = variable("HOME");
    auto const location = [&](char const* name, char const* otherwise) {
        auto path = variable(name);
        return in_home(path.empty() ? otherwise : std::move(path), home);
    };
    return {
        location("AWS_CONFIG_FILE", "~/.aws/config"), location("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials")};
}

std::string selected_profile(environment const& variable, std::string_view chosen, std::string_view otherwise)
{
    if (!chosen.empty()) return std::string(chosen);
    auto const named = first_set(variable, {"AWS_PROFILE", "AWS_DEFAULT_PROFILE"});
    return named.empty() ? std::string(otherwise) : named;
}

result<shared_config> load_shared_config(environment const& variable, file_system& files)
{
    auto at = locate_shared_files(variable);
    auto const config = read_if_there(std::move(at.config), files);
    if (!config) return config.error();
    auto const credentials = read_if_there(std::move(at.credentials), files);
    if (!credentials) return credentials.error();
    return parse_shared_config(*config, *credentials);
}

} // namespace quern::aws
