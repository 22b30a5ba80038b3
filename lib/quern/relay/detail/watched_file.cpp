#include <quern/relay/detail/watched_file.hpp>

#include <fstream>
#include <sstream>
#include <sys/stat.h>

namespace quern::relay::detail {

result<std::string> watched_file::read()
{
    struct stat now {};
    bool const there = ::stat(path_.c_str(), &now) == 0;
    auto const changed_at = static_cast<std::int64_t>(now.st_mtim.tv_sec) * 1'000'000'000 + now.st_mtim.tv_nsec;
    bool const same = changed_at == changed_at_ && now.st_size == size_ && now.st_ino == place_;
    if (there && !same) {
        std::ifstream file(path_, std::ios::binary);
        std::ostringstream text;
        text << file.rdbuf();
        auto const all = text.str();
        constexpr auto blank = " \t\r\n";
        auto const first = all.find_first_not_of(blank);
        if (file && first != all.npos) {
            text_ = all.substr(first, all.find_last_not_of(blank) - first + 1);
            changed_at_ = changed_at;
            size_ = now.st_size;
            place_ = now.st_ino;
        }
    }
    if (text_.empty()) return failure(errc::invalid_option, path_ + ": cannot be read, or is empty");
    return text_;
}

} // namespace quern::relay::detail
