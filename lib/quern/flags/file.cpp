#include <quern/flags/file.hpp>

#include <quern/flags/detail/text_flag.hpp>

namespace quern::flags {

using namespace detail;

std::shared_ptr<policy::flag_source> in_file(std::string path, aws::file_system& files)
{
    auto name = "file:" + path;
    auto read = [path, &files]() -> boost::asio::awaitable<result<std::string>> { co_return files.read(path); };
    auto write = [path = std::move(path), &files](std::string text) -> boost::asio::awaitable<result<void>> {
        co_return files.replace(path, text);
    };
    return std::make_shared<text_flag>(std::move(name), std::move(read), std::move(write));
}

} // namespace quern::flags
