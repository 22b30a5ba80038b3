#include "common/line_reader.hpp"

#include <quern/core/detail/descriptor.hpp>

#include <algorithm>
#include <cerrno>
#include <unistd.h>

namespace quern::app {

line_reader::line_reader(boost::asio::any_io_executor ex, int descriptor, std::size_t longest)
    : descriptor_(descriptor), longest_(longest), ready_(std::move(ex), descriptor, readiness::way::read)
{}

result<std::optional<std::string>> line_reader::next()
{
    bool whole = take_line();
    while (!whole && !ended_ && ready_.now()) {
        if (auto const done = read(); !done) return done.error();
        whole = take_line();
    }
    if (!whole && (!ended_ || line_.empty())) return std::optional<std::string>();
    return std::optional(std::exchange(line_, std::string()));
}

bool line_reader::take_line()
{
    auto const end = chunk_.find('\n', at_);
    auto const piece = std::string_view(chunk_).substr(at_, end == chunk_.npos ? end : end - at_);
    line_.append(piece.substr(0, longest_ + 1 - std::min(longest_ + 1, line_.size())));
    at_ = end == chunk_.npos ? chunk_.size() : end + 1;
    return end != chunk_.npos;
}

result<void> line_reader::read()
{
    chunk_.resize(64 * 1024);
    at_ = 0;
    auto const got = ::read(descriptor_, chunk_.data(), chunk_.size());
    boost::system::error_code const error(got < 0 ? errno : 0, boost::system::system_category());
    chunk_.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    ended_ = got == 0;
    if (!error || error == boost::system::errc::interrupted || error == boost::system::errc::operation_would_block) {
        return {};
    }
    return detail::system_failure(error.value(), "standard input");
}

} // namespace quern::app
