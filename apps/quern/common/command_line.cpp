#include "common/command_line.hpp"

#include <CLI/CLI.hpp>

namespace quern::app {
namespace {

/// The name out of a name with what the value is called.
std::string word(std::string_view name)
{
    return std::string(name.substr(0, name.find(' ')));
}

} // namespace

option* option::required()
{
    it_.required();
    return this;
}

option* option::capture_default_str()
{
    it_.capture_default_str();
    return this;
}

option* option::check(std::function<std::string(std::string const&)> problem)
{
    it_.check(std::move(problem));
    return this;
}

option* option::range(int lowest, int highest)
{
    it_.check(CLI::Range(lowest, highest));
    return this;
}

option* option::range(std::uint64_t lowest, std::uint64_t highest)
{
    it_.check(CLI::Range(lowest, highest));
    return this;
}

option* option::range(double lowest, double highest)
{
    it_.check(CLI::Range(lowest, highest));
    return this;
}

option* option::positive()
{
    it_.check(CLI::PositiveNumber);
    return this;
}

option* option::one_of(std::initializer_list<char const*> values)
{
    it_.check(CLI::IsMember(std::vector<std::string>(values.begin(), values.end())));
    return this;
}

option* option::one_of_told(std::initializer_list<char const*> values)
{
    it_.check(CLI::IsMember(std::vector<std::string>(values.begin(), values.end())).description(""));
    return this;
}

option* option::size_value()
{
    it_.transform(CLI::AsSizeValue(false).description(""));
    return this;
}

option* option::needs(char const* other)
{
    it_.needs(std::string(other));
    return this;
}

option* option::excludes(char const* other)
{
    it_.excludes(std::string(other));
    return this;
}

option* option::one_each_time()
{
    it_.allow_extra_args(false);
    return this;
}

option* option::any_number()
{
    it_.expected(1)->take_all();
    return this;
}

option* command::keep(CLI::Option* it, std::string_view name)
{
    if (auto const blank = name.find(' '); blank != name.npos) it->type_name(std::string(name.substr(blank + 1)));
    return &options_.emplace_back(*it);
}

option* command::add_option(std::string_view name, std::string& to, std::string_view help)
{
    return keep(it_->add_option(word(name), to, std::string(help)), name);
}

option* command::add_option(std::string_view name, int& to, std::string_view help)
{
    return keep(it_->add_option(word(name), to, std::string(help)), name);
}

option* command::add_option(std::string_view name, std::uint16_t& to, std::string_view help)
{
    return keep(it_->add_option(word(name), to, std::string(help)), name);
}

option* command::add_option(std::string_view name, std::int64_t& to, std::string_view help)
{
    return keep(it_->add_option(word(name), to, std::string(help)), name);
}

option* command::add_option(std::string_view name, std::uint64_t& to, std::string_view help)
{
    return keep(it_->add_option(word(name), to, std::string(help)), name);
}

option* command::add_option(std::string_view name, double& to, std::string_view help)
{
    return keep(it_->add_option(word(name), to, std::string(help)), name);
}

option* command::add_option(std::string_view name, std::optional<int>& to, std::string_view help)
{
    return keep(it_->add_option(word(name), to, std::string(help)), name);
}

option* command::add_option(std::string_view name, std::optional<std::uint16_t>& to, std::string_view help)
{
    return keep(it_->add_option(word(name), to, std::string(help)), name);
}

option* command::add_option(std::string_view name, std::optional<std::uint64_t>& to, std::string_view help)
{
    return keep(it_->add_option(word(name), to, std::string(help)), name);
}

option* command::add_option(std::string_view name, std::vector<std::string>& to, std::string_view help)
{
    return keep(it_->add_option(word(name), to, std::string(help)), name);
}

option* command::add_flag(std::string_view name, bool& to, std::string_view help)
{
    return keep(it_->add_flag(word(name), to, std::string(help)), name);
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
