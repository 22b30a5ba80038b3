#include "common/command_line.hpp"

#include "common/commands.hpp"
#include "common/duration_text.hpp"

#include <CLI/CLI.hpp>

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

bool program::parse(int argc, char* argv[])
try {
    it_->parse(argc, argv);
    return true;
} catch (CLI::Success const& asked) {
    it_->exit(asked);
    return false;
} catch (CLI::ParseError const& wrong) {
    throw usage_error(wrong.what());
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
