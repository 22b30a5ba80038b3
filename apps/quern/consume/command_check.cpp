#include "consume/command_check.hpp"

#include <quern/aws/detail/shell_command.hpp>

#include <filesystem>
#include <unistd.h>

namespace quern::app {

std::string plain_first_word(std::string const& command)
{
    constexpr auto blank = " \t\n";
    constexpr auto plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+@%:,-";
    auto const begin = command.find_first_not_of(blank);
    if (begin == command.npos) return {};
    auto const end = command.find_first_not_of(plain, begin);
    if (end != command.npos && std::string_view(" \t\n;&|<>").find(command[end]) == std::string_view::npos) return {};
    return command.substr(begin, end == command.npos ? end : end - begin);
}

boost::asio::awaitable<std::string> missing_command(std::string command)
{
    auto const word = plain_first_word(command);
    if (word.empty()) co_return word;
    if (word.find('/') != word.npos) {
        std::error_code ec;
        if (!std::filesystem::exists(word, ec)) co_return "there is no " + word + "; check its path";
        if (std::filesystem::is_directory(word, ec)) co_return word + " is a folder, not a program";
        if (::access(word.c_str(), X_OK) != 0) co_return word + " is not executable; chmod +x " + word;
        co_return std::string();
    }
    aws::detail::shell_command ask("command -v -- " + word + "");
    ask.keep_output = true;
    auto const found = co_await aws::detail::run_shell_command(std::move(ask));
    if (found && !found->succeeded()) co_return "there is no command " + word + "; check PATH, or give its path";
    co_return std::string();
}

} // namespace quern::app
