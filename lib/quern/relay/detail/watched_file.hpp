#pragma once

#include <quern/core/error.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace quern::relay::detail {

/// A small file that others replace while the program runs: a token, a secret. Read again when it has changed.
class watched_file {
public:
    explicit watched_file(std::string path) : path_(std::move(path)) {}

    /// Its text, without white space at its ends. While it cannot be read, or is empty: the text of before.
    ///
    /// Fails with  errc::invalid_option  it could never be read; names the file
    [[nodiscard]] result<std::string> read();

    std::string const& path() const { return path_; }

private:
    std::string path_;
    std::string text_;
    std::int64_t changed_at_ = -1, size_ = -1;
    std::uint64_t place_ = 0;
};

} // namespace quern::relay::detail
