#pragma once

#include "common/readiness.hpp"

#include <quern/core/error.hpp>

#include <cstddef>
#include <optional>
#include <string>

namespace quern::app {

/// Reads a descriptor line by line, without ever blocking on it and without ever holding more than one chunk and one
/// line.
class line_reader {
public:
    /// A line is kept up to `longest` bytes, and one more by which its reader can tell that it was longer.
    line_reader(boost::asio::any_io_executor, int descriptor, std::size_t longest);

    /// The next line, without its line feed, when that much has come in. The last one may lack the line feed.
    result<std::optional<std::string>> next();

    /// All lines have been given.
    bool at_end() const { return ended_ && line_.empty(); }

    /// Completes when next() may have more to say, or when stopped.
    boost::asio::awaitable<void> more() { return ready_.wait(); }
    void stop_waiting() { ready_.cancel(); }

private:
    bool take_line();
    result<void> read();

    int descriptor_;
    std::size_t longest_;
    readiness ready_;
    std::string chunk_;
    std::size_t at_ = 0; // what has been taken of the chunk
    std::string line_;   // the beginning of one
    bool ended_ = false;
};

} // namespace quern::app
