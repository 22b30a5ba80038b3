#include <quern/core/detail/descriptor.hpp>

#include <cerrno>

namespace quern::detail {

bool write_all(int fd, std::string_view text)
{
    while (!text.empty()) {
        auto const put = ::write(fd, text.data(), text.size());
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return false;
        text.remove_prefix(static_cast<std::size_t>(put));
    }
    return true;
}

failure system_failure(int error, std::string_view what)
{
    failure why;
    why.code.assign(error, boost::system::system_category());
    why.message = what;
    return why;
}

} // namespace quern::detail
