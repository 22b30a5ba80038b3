#include "standard_streams.hpp"

#include <cerrno>
#include <fcntl.h>
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

result<void> flush_output()
{
    errno = 0;
    bool const flushed = std::fflush(stdout) == 0;
    if (flushed && std::ferror(stdout) == 0) return {};
    failure why;
    why.code.assign(errno != 0 ? errno : EIO, boost::system::system_category());
    why.message = "standard output";
    return why;
}

} // namespace quern::app
