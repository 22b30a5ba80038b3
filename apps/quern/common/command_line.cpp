#include "common/command_line.hpp"

#include "common/commands.hpp"
#include "common/duration_text.hpp"
#include "common/toml_reader.hpp"

#include <quern/core/detail/text/characters.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace quern::app {

using std::chrono::milliseconds;

namespace {

constexpr char const* none = "none";

// The text is one that the option's traits have let through.

void store(milliseconds& to, std::string const& text)
{
    to = duration_from(text).value();
}

void store(std::optional<milliseconds>& to, std::string const& text)
{
    to = text == none ? std::nullopt : duration_from(text);
}

void store(byte_count& to, std::string const& text)
{
    to.most = text == none ? std::nullopt : bytes_from(text);
}

std::string shown(std::optional<milliseconds> const& is)
{
    return is ? duration_text(*is) : none;
}

std::string shown(byte_count const& is)
{
    return is.most ? std::to_string(*is.most) : none;
}

} // namespace

trait required()
{
    return [](CLI::Option& it) { it.required(); };
}

trait shows_default()
{
    return [](CLI::Option& it) { it.capture_default_str(); };
}

trait check(std::function<std::string(std::string const&)> problem)
{
    return [=](CLI::Option& it) { it.check(problem); };
}

trait range(int lowest, int highest)
{
    return [=](CLI::Option& it) { it.check(CLI::Range(lowest, highest)); };
}

trait range(std::uint64_t lowest, std::uint64_t highest)
{
    return [=](CLI::Option& it) { it.check(CLI::Range(lowest, highest)); };
}

trait range(double lowest, double highest)
{
    return [=](CLI::Option& it) { it.check(CLI::Range(lowest, highest)); };
}

trait positive()
{
    return [](CLI::Option& it) { it.check(CLI::PositiveNumber); };
}

trait one_of(std::initializer_list<char const*> values)
{
    return [all = CLI::IsMember(std::vector<std::string>(values.begin(), values.end()))](
               CLI::Option& it) { it.check(all); };
}

trait one_of_told(std::initializer_list<char const*> values)
{
    return [all = CLI::IsMember(std::vector<std::string>(values.begin(), values.end())).description("")](
               CLI::Option& it) { it.check(all); };
}

trait duration_within(milliseconds lowest, milliseconds highest, bool or_none)
{
    return check([=](std::string const& text) -> std::string {
        if (or_none && text == none) return {};
        auto const is = duration_from(text);
        if (is && *is >= lowest && *is <= highest) return {};
        return "must be a duration, as 30s or 5m, from " + duration_text(lowest) + " to " + duration_text(highest) +
            (or_none ? ", or none" : "");
    });
}

trait size_or_none(std::uint64_t lowest)
{
    return check([=](std::string const& text) -> std::string {
        auto const is = bytes_from(text);
        if (text == none || (is && *is >= lowest)) return {};
        return "must be a size, as 64MiB, of at least " + std::to_string(lowest) + ", or none";
    });
}

trait needs(char const* other)
{
    return [=](CLI::Option& it) { it.needs(std::string(other)); };
}

trait excludes(char const* other)
{
    return [=](CLI::Option& it) { it.excludes(std::string(other)); };
}

trait one_each_time()
{
    return [](CLI::Option& it) { it.allow_extra_args(false); };
}

trait any_number()
{
    return [](CLI::Option& it) { it.expected(1)->take_all(); };
}

void command::add(std::initializer_list<option> all)
{
    std::vector<CLI::Option*> made;
    for (auto const& one : all) {
        auto const blank = one.name.find(' ');
        auto const word = one.name.substr(0, blank);
        auto const add = [&](auto* to) {
            if constexpr (std::is_same_v<decltype(to), bool*>)
                return it_->add_flag(word, *to, one.help);
            else if constexpr (requires { store(*to, word); })
                return it_
                    ->add_option_function<std::string>(
                        word, [to](std::string const& s) { store(*to, s); }, one.help)
                    ->default_function([to] { return shown(*to); });
            else
                return it_->add_option(word, *to, one.help);
        };
        made.push_back(std::visit(add, one.to));
        if (blank != word.npos) made.back()->type_name(one.name.substr(blank + 1));
    }
    auto next = made.begin();
    for (auto const& one : all) {
        for (auto const& has : one.traits)
            has(**next);
        ++next;
    }
}

command* command::add_subcommand(char const* name, char const* help)
{
    auto* const it = it_->add_subcommand(name, help);
    return &subcommands_.emplace_back(it_->get_subcommand_ptr(it));
}

void command::one_subcommand_at_most()
{
    it_->require_subcommand(0, 1);
}

bool command::names_subcommand() const
{
    return !it_->get_subcommands().empty();
}

void command::has_settings(std::function<bool(std::string_view key)> read_elsewhere)
{
    read_elsewhere_ = std::move(read_elsewhere);
}

command const* command::find(CLI::App const* which) const
{
    if (it_.get() == which) return this;
    for (auto const& one : subcommands_)
        if (auto const* const found = one.find(which)) return found;
    return nullptr;
}

void command::footer(char const* text)
{
    it_->footer(text);
}

void command::callback(std::function<void()> then)
{
    it_->callback(std::move(then));
}

void when_named(command& it, command_line& line, std::function<int()> run)
{
    it.callback([&line, run = std::move(run)] { line.run = run; });
}

program::program(char const* name, char const* about, char const* version)
    : command(std::make_shared<CLI::App>(about, name))
{
    it_->set_version_flag("--version", version);
    it_->fallthrough();
    one_subcommand_at_most();
}

namespace {

std::string name_of(CLI::Option const& it)
{
    if (!it.get_lnames().empty()) return it.get_lnames().front();
    return quern::detail::text::lower_case(it.get_name(true));
}

std::vector<known_option> options_of(CLI::App const& app)
{
    std::vector<known_option> out;
    for (auto const* const one : app.get_options()) {
        auto const name = name_of(*one);
        if (name.empty() || name == "help" || name == "version" || name == "config") continue;
        auto const most = one->get_items_expected_max();
        bool const takes_all = one->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
        out.push_back({name, most == 0, most > 1 || takes_all, one->get_positional()});
    }
    return out;
}

/// Names on a command line, as far as they can be told before it is parsed.
struct glance {
    CLI::App* command = nullptr; ///< the innermost one
    std::vector<std::string> path;
    std::set<std::string> named; ///< options
    std::map<std::string, std::string> values;
    bool has_positional = false, asks_for_help = false;
};

CLI::Option const* option_of(CLI::App const* at, std::string const& name)
{
    for (; at; at = at->get_parent())
        if (auto const* const found = at->get_option_no_throw(name)) return found;
    return nullptr;
}

glance look_at(CLI::App& app, std::vector<std::string> const& arguments)
{
    glance out;
    out.command = &app;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        auto const& word = arguments[i];
        if (word == "--") {
            out.has_positional = out.has_positional || i + 1 < arguments.size();
            break;
        }
        if (word == "-h" || word == "--help" || word == "--version") out.asks_for_help = true;
        if (word.starts_with("--")) {
            auto const equals = word.find('=');
            auto const name = word.substr(0, equals);
            auto const* const option = option_of(out.command, name);
            out.named.insert(name.substr(2));
            if (equals != word.npos)
                out.values[name.substr(2)] = word.substr(equals + 1);
            else if (option && option->get_items_expected_max() > 0 && i + 1 < arguments.size())
                out.values[name.substr(2)] = arguments[++i];
            continue;
        }
        if (word.size() > 1 && word.starts_with("-")) continue;
        auto const inner = out.command->get_subcommands([&](CLI::App* a) { return a->check_name(word); });
        out.has_positional = out.has_positional || inner.empty();
        if (out.has_positional) continue;
        out.command = inner.front();
        out.path.push_back(word);
    }
    return out;
}

} // namespace

std::vector<std::string> command::keys() const
{
    return keys_of(options_of(*it_));
}

/// The arguments, with what files and variables say of options that they do not name.
std::vector<std::string> program::with_settings(std::vector<std::string> arguments)
{
    auto const seen = look_at(*it_, arguments);
    if (seen.asks_for_help) return arguments;
    wanted_settings wanted;
    wanted.path = seen.path;
    wanted.of_program = options_of(*it_);
    if (seen.command != it_.get()) wanted.of_command = options_of(*seen.command);
    for (auto const* const one : it_->get_subcommands([](CLI::App const*) { return true; }))
        wanted.commands.push_back(one->get_name());
    auto const* const named = find(seen.command);
    if (named) wanted.read_elsewhere = named->elsewhere();

    auto const variable = aws::process_environment;
    auto said = settings_in_environment(variable, all_variable_names(), wanted, warnings_);
    auto file = seen.values.contains("config") ? seen.values.at("config") : variable("QUERN_CONFIG");
    if (!file.empty()) {
        auto const text = text_of_file("--config", file);
        auto read = text ? settings_in_document(*text, file, wanted) : text.error();
        if (!read) throw usage_error(read.error().message);
        auto const name_of_it = [](said_setting const& s) { return s.what.name; };
        for (auto& one : *read)
            if (std::ranges::count(said, one.what.name, name_of_it) == 0) said.push_back(std::move(one));
    }
    auto const from = std::ranges::find(arguments, "--"); // options come before it
    std::vector<std::string> last(from, arguments.end());
    arguments.erase(from, arguments.end());
    if (!file.empty() && !seen.named.contains("config")) arguments.push_back("--config=" + file);
    for (auto& one : said) {
        if (one.what.is_positional ? seen.has_positional : seen.named.contains(one.what.name)) continue;
        for (auto const& value : one.values) {
            if (one.what.is_positional)
                last.push_back(value);
            else if (!one.what.is_flag)
                arguments.push_back("--" + one.what.name + '=' + value);
            else if (value == "true")
                arguments.push_back("--" + one.what.name);
        }
        said_.push_back(std::move(one));
    }
    arguments.insert(arguments.end(), last.begin(), last.end());
    return arguments;
}

/// The complaint, with the places where options stand that it is about.
std::string program::with_origins(std::string complaint) const
{
    for (auto const& one : said_) {
        auto const name = one.what.is_positional ? one.what.name : "--" + one.what.name;
        auto const at = complaint.find(name);
        if (at == complaint.npos) continue;
        auto const next = at + name.size();
        bool const is_whole = next == complaint.size() ||
            (complaint[next] != '-' && !std::isalnum(static_cast<unsigned char>(complaint[next])));
        if (is_whole) complaint.insert(next, " (" + one.where + ")");
    }
    return complaint;
}

/// The complaint about an argument that nobody knows, with the option that may be meant.
std::string program::with_nearest(std::string complaint) const
{
    auto const at = complaint.find("--");
    if (at == complaint.npos) return complaint;
    auto const word = complaint.substr(at + 2, complaint.find_first_of("= ", at) - at - 2);
    std::vector<std::string> all;
    CLI::App const* within = it_.get();
    while (!within->get_subcommands().empty())
        within = within->get_subcommands().front();
    for (; within; within = within->get_parent())
        for (auto const& one : options_of(*within))
            if (!one.is_positional) all.push_back(one.name);
    auto const meant = nearest(word, all);
    return meant ? complaint + ", did you mean --" + *meant + '?' : complaint;
}

bool program::parse(std::vector<std::string> arguments)
try {
    arguments = with_settings(std::move(arguments));
    std::ranges::reverse(arguments); // as CLI11 takes them
    it_->parse(std::move(arguments));
    return true;
} catch (CLI::Success const& asked) {
    it_->exit(asked);
    return false;
} catch (CLI::ExtrasError const& wrong) {
    throw usage_error(with_nearest(wrong.what()));
} catch (CLI::ParseError const& wrong) {
    throw usage_error(with_origins(wrong.what()));
}

std::string program::named() const
{
    auto const* at = it_.get();
    while (!at->get_subcommands().empty())
        at = at->get_subcommands().front();
    std::string name = it_->get_name();
    if (at == it_.get()) return name;
    if (at->get_parent() != it_.get()) name += ' ' + at->get_parent()->get_name();
    return name + ' ' + at->get_name();
}

} // namespace quern::app
