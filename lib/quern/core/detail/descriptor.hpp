#pragma once

#include <quern/core/error.hpp>

#include <string_view>
#include <utility>

#include <unistd.h>

namespace quern::detail {

/// A file descriptor that closes itself; negative where opening failed, with errno as the system left it.
class descriptor {
public:
    explicit descriptor(int number) : number_(number) {}
    descriptor(descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    descriptor& operator=(descriptor&&) = delete;
    ~descriptor()
    {
        if (number_ >= 0) ::close(number_);
    }
    int get() const { return number_; }

private:
    int number_;
};

/// Writes all of it. False: the rest was refused, and errno says why.
bool write_all(int fd, std::string_view text);

/// A failure of the system about `what`, a path say.
failure system_failure(int error, std::string_view what);

} // namespace quern::detail
