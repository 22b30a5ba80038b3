#include <quern/aws/config/files.hpp>
#include <quern/core/detail/descriptor.hpp>

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

namespace quern::aws {

using namespace quern::detail;

namespace {

class disk final : public file_system {
public:
    result<std::string> read(std::string const& path) override
    {
        constexpr std::size_t limit = 1024 * 1024; // far beyond any file of its kind; a device would have no end
        descriptor const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        if (file.get() < 0) return system_failure(errno, path);
        std::string text;
        for (char buffer[16 * 1024];;) {
            auto const got = ::read(file.get(), buffer, sizeof buffer);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) return system_failure(errno, path);
            if (got == 0) return text;
            text.append(buffer, static_cast<std::size_t>(got));
            if (text.size() > limit) return system_failure(EFBIG, path);
        }
    }

    result<void> replace(std::string const& path, std::string_view text) override
    {
        auto draft = path + ".XXXXXX";
        descriptor const file(::mkostemp(draft.data(), O_CLOEXEC)); // 0600
        if (file.get() < 0) return system_failure(errno, path);
        if (!write_all(file.get(), text) || ::fsync(file.get()) != 0 ||
            std::rename(draft.c_str(), path.c_str()) != 0) {
            auto const error = errno;
            ::unlink(draft.c_str());
            return system_failure(error, path);
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
