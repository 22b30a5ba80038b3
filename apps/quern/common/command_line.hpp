#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace quern::app {

/// The command line is wrong: what() says how, in one line.
struct usage_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// One option of a command, or a positional argument. Each function returns it again.
///
/// CLI11 stands behind it, whose headers cost a file ten seconds: command_line.cpp alone includes them.
class option {
public:
    explicit option(CLI::Option& it) : it_(it) {}

    option* required();
    /// Shows in the help what the variable holds now.
    option* capture_default_str();

    /// Refuses a value for the reason that `problem` returns; empty: it is good.
    option* check(std::function<std::string(std::string const&)> problem);
    option* range(int lowest, int highest);
    option* range(std::uint64_t lowest, std::uint64_t highest);
    option* range(double lowest, double highest);
    option* positive();
    option* one_of(std::initializer_list<char const*> values);
    /// The same, where the help's text has these values already.
    option* one_of_told(std::initializer_list<char const*> values);
    /// Reads a number of bytes: 64MiB, 1GiB.
    option* size_value();

    /// Both name an option of the same command that is there already.
    option* needs(char const* other);
    option* excludes(char const* other);

    /// A list that grows by one value each time the option is named.
    option* one_each_time();
    /// The same, though what follows a value belongs to the list too; the help shows it as a single value.
    option* any_number();

private:
    CLI::Option& it_;
};

/// A command with its options. Variables that they fill outlive the reading of the command line, and options and
/// subcommands live as long as their command.
class command {
public:
    explicit command(std::shared_ptr<CLI::App> it) : it_(std::move(it)) {}
    command(command const&) = delete;
    command& operator=(command const&) = delete;

    /// `name`: "--wait-time SECONDS", with what its value is called in the help, or "QUEUE", a positional argument.
    option* add_option(std::string_view name, std::string&, std::string_view help);
    option* add_option(std::string_view name, int&, std::string_view help);
    option* add_option(std::string_view name, std::uint16_t&, std::string_view help);
    option* add_option(std::string_view name, std::int64_t&, std::string_view help);
    option* add_option(std::string_view name, std::uint64_t&, std::string_view help);
    option* add_option(std::string_view name, double&, std::string_view help);
    option* add_option(std::string_view name, std::optional<int>&, std::string_view help);
    option* add_option(std::string_view name, std::optional<std::uint16_t>&, std::string_view help);
    option* add_option(std::string_view name, std::optional<std::uint64_t>&, std::string_view help);
    option* add_option(std::string_view name, std::vector<std::string>&, std::string_view help);
    option* add_flag(std::string_view name, bool&, std::string_view help);

    command* add_subcommand(char const* name, char const* help);
    /// None of its subcommands has to be named: who finds that out calls a wrong one by its name.
    void one_subcommand_at_most();
    bool names_subcommand() const;

    /// The end of its help.
    void footer(char const* text);
    /// Called when the command was named and its options are filled.
    void callback(std::function<void()>);

protected:
    std::shared_ptr<CLI::App> it_;

private:
    option* keep(CLI::Option*, std::string_view name);

    std::deque<option> options_;
    std::deque<command> subcommands_;
};

/// The command that is the program. Its options may stand behind those of a subcommand too.
class program : public command {
public:
    program(char const* name, char const* about, char const* version);

    /// Fills the variables, and calls back. False when help or the version was asked for, and printed.
    ///
    /// Throws  usage_error
    bool parse(int argc, char* argv[]);

    /// The innermost command that the command line names, "quern queue create".
    std::string named() const;
};

} // namespace quern::app
