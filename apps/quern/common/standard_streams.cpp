#include "common/standard_streams.hpp"

#include <quern/core/detail/descriptor.hpp>

#include <cerrno>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

namespace quern::app {

void hold_standard_streams()
{
    for (int const number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(number, F_GETFD) >= 0) continue;
        // Those below are taken, so this is the number that it gets. It is opened for what nobody will try.
        ::open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
}

std::string harmless(std::string json)
{
    constexpr std::string_view suspects("\x7f\xc2", 2);
    std::string out;
    std::string_view rest = json;
    for (auto at = rest.find_first_of(suspects); at != rest.npos; at = rest.find_first_of(suspects)) {
        auto const lead = static_cast<unsigned char>(rest[at]);
        auto const next = at + 1 < rest.size() ? static_cast<unsigned char>(rest[at + 1]) : 0;
        bool const is_c1 = lead == 0xc2 && next >= 0x80 && next < 0xa0;
        out += rest.substr(0, at);
        if (lead == 0x7f || is_c1)
            out += fmt::format("\\u{:04x}", is_c1 ? next : lead);
        else
            out += rest[at];
        rest.remove_prefix(at + (is_c1 ? 2 : 1));
    }
    if (out.empty()) return json;
    return out += rest;
}

result<void> flush_output()
{
    errno = 0;
    bool const flushed = std::fflush(stdout) == 0;
    if (flushed && std::ferror(stdout) == 0) return {};
    return detail::system_failure(errno != 0 ? errno : EIO, "standard output");
}

} // namespace quern::app
