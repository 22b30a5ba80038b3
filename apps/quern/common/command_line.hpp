#pragma once

#include "common/settings_sources.hpp"

#include <chrono>
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
#include <variant>
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

/// A property of an option. CLI11 stands behind it, whose headers cost a file ten seconds: command_line.cpp alone
/// includes them.
using trait = std::function<void(CLI::Option&)>;

trait required();
/// Shows in the help what the variable holds now.
trait shows_default();

/// Refuses a value for the reason that `problem` returns; empty: it is good.
trait check(std::function<std::string(std::string const&)> problem);
/// Refuses what `parse` does, which returns a result, for its reason.
template <class Parse>
trait parsed_by(Parse parse)
{
    return check([parse](std::string const& text) {
        auto const made = parse(text);
        return made ? std::string() : made.error().message;
    });
}
trait range(int lowest, int highest);
trait range(std::uint64_t lowest, std::uint64_t highest);
trait range(double lowest, double highest);
/// A duration, "30s" or "5m", within these bounds; where `or_none`, the word none as well, which makes the variable
/// absent.
trait duration_within(std::chrono::milliseconds lowest, std::chrono::milliseconds highest, bool or_none = false);
trait positive();
trait one_of(std::initializer_list<char const*> values);
/// The same, where the help's text has these values already.
trait one_of_told(std::initializer_list<char const*> values);
/// A number of bytes, "64MiB" or "1GiB", of at least so many; or none, which makes the variable absent.
trait size_or_none(std::uint64_t lowest);

/// Both name an option of the same command that is there already, or comes in the same list.
trait needs(char const* other);
trait excludes(char const* other);

/// A list that grows by one value each time the option is named.
trait one_each_time();
/// The same, though what follows a value belongs to the list too; the help shows it as a single value.
trait any_number();

/// A number of bytes, or any.
struct byte_count {
    std::optional<std::uint64_t> most;
};

/// A line in the table of a command: an option, or a positional argument. The variable outlives the reading of the
/// command line; a bool is a flag.
struct option {
    using variable =
        std::variant<bool*, std::string*, int*, std::int64_t*, std::uint64_t*, double*, std::optional<int>*,
            std::optional<std::uint16_t>*, std::optional<std::uint64_t>*, std::uint16_t*, std::vector<std::string>*,
            std::chrono::milliseconds*, std::optional<std::chrono::milliseconds>*, byte_count*>;

    /// `name`: "--wait-time SECONDS", with what its value is called in the help, or "QUEUE", a positional argument.
    template <class T, class... Traits>
    option(std::string_view name, T& to, std::string_view help, Traits... more)
        : name(name), to(&to), help(help), traits{std::move(more)...}
    {}

    std::string name;
    variable to;
    std::string help;
    std::vector<trait> traits;
};

/// A command with its options and subcommands.
class command {
public:
    explicit command(std::shared_ptr<CLI::App> it) : it_(std::move(it)) {}
    command(command const&) = delete;
    command& operator=(command const&) = delete;

    void add(std::initializer_list<option>);
    void add(option one) { add({std::move(one)}); }

    command* add_subcommand(char const* name, char const* help);
    /// None of its subcommands has to be named: who finds that out calls a wrong one by its name.
    void one_subcommand_at_most();
    bool names_subcommand() const;

    /// Names of its options in a file: "max_age".
    std::vector<std::string> keys() const;

    /// Options that stand in a file of settings besides: those of the command's own option --config, or else of the
    /// program's. `read_elsewhere`: keys of its table there that somebody else reads.
    void has_settings(std::function<bool(std::string_view key)> read_elsewhere);
    std::function<bool(std::string_view key)> const& elsewhere() const { return read_elsewhere_; }

    /// The end of its help.
    void footer(char const* text);
    /// Called when the command was named and its options are filled.
    void callback(std::function<void()>);

protected:
    std::shared_ptr<CLI::App> it_;

    /// Finds the command that CLI11 knows by this; null: none.
    command const* find(CLI::App const*) const;

private:
    std::deque<command> subcommands_;
    std::function<bool(std::string_view key)> read_elsewhere_;
};

/// The command that is the program. Its options may stand behind those of a subcommand too.
class program : public command {
public:
    program(char const* name, char const* about, char const* version);

    /// Fills the variables from the file of --config, the environment and the command line, the last one first to
    /// count, and calls back. False when help or the version was asked for, and printed.
    ///
    /// Throws  usage_error
    bool parse(std::vector<std::string> arguments);

    /// Options that stand elsewhere than on the command line, and warnings about them.
    std::vector<said_setting> const& said_elsewhere() const { return said_; }
    std::vector<std::string> const& warnings() const { return warnings_; }

    /// The innermost command that the command line names, "quern queue create".
    std::string named() const;

private:
    std::vector<std::string> with_settings(std::vector<std::string> arguments);
    std::string with_origins(std::string complaint) const;
    std::string with_nearest(std::string complaint) const;

    std::vector<said_setting> said_;
    std::vector<std::string> warnings_;
};

} // namespace quern::app
