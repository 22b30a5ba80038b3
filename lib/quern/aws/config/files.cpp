#include <quern/aws/config/files.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

namespace quern::aws {
namespace {

failure refused(int error, std::string const& path)
{
    failure why;
    why.code.assign(error, boost::system::system_category());
    why.message = path;
    return why;
}

struct descriptor {
    explicit descriptor(int number) : fd(number) {}
    descriptor(descriptor const&) = delete;
    ~descriptor()
    {
        if (fd >= 0) ::close(fd);
    }
    int const fd;
};

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

class disk final : public file_system {
public:
    result<std::string> read(std::string const& path) override
    {
        constexpr std::size_t limit = 1024 * 1024; // far beyond any file of its kind; a device would have no end
        descriptor const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        if (file.fd < 0) return refused(errno, path);
        std::string text;
        for (char buffer[16 * 1024];;) {
            auto const got = ::read(file.fd, buffer, sizeof buffer);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) return refused(errno, path);
            if (got == 0) return text;
            text.append(buffer, static_cast<std::size_t>(got));
            if (text.size() > limit) return refused(EFBIG, path);
        }
    }

    result<void> replace(std::string const& path, std::string_view text) override
    {
        auto draft = path + ".XXXXXX";
        descriptor const file(::mkostemp(draft.data(), O_CLOEXEC)); // 0600
        if (file.fd < 0) return refused(errno, path);
        if (!write_all(file.fd, text) || ::fsync(file.fd) != 0 || std::rename(draft.c_str(), path.c_str()) != 0) {
            auto const error = errno;
            ::unlink(draft.c_str());
            return refused(error, path);
        }
        return {};
    }
};

} // namespace

file_system& real_files()
{
    static disk instance;
    return instance;
}

} // namespace quern::aws
