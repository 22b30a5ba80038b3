#include <quern/net/detail/tls_files.hpp>

#include <sys/stat.h>

#include <cerrno>
#include <ctime>
#include <fstream>
#include <iterator>

namespace quern::net::detail {

namespace {

long long in_ns(timespec const& at)
{
    return static_cast<long long>(at.tv_sec) * 1'000'000'000 + at.tv_nsec;
}

result<void> read_into(std::string const& option, pem_text& into)
{
    if (into.file.empty()) return {};
    errno = 0;
    std::ifstream from(into.file, std::ios::binary);
    into.text.assign(std::istreambuf_iterator<char>(from), std::istreambuf_iterator<char>());
    if (!into.text.empty()) return {};
    boost::system::error_code const ec(errno, boost::system::system_category());
    return failure(errc::invalid_option, option + " \"" + into.file + "\": " + (ec ? ec.message() : "is empty"));
}

} // namespace

tls_files::tls_files(tls_material like) : like_(std::move(like)), current_(std::make_shared<tls_material>(like_)) {}

/// Times of files have the grain of the kernel's timer, or of seconds elsewhere.
tls_files::sight tls_files::look() const
{
    constexpr long long grain = 2'000'000'000;
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    sight out;
    auto at = out.stamps.begin();
    for (auto const* const file : {&like_.authorities.file, &like_.certificate.file, &like_.key.file}) {
        struct stat is {};
        if (!file->empty() && ::stat(file->c_str(), &is) == 0) {
            for (auto const part : {static_cast<long long>(is.st_dev), static_cast<long long>(is.st_ino),
                     static_cast<long long>(is.st_size), in_ns(is.st_mtim), in_ns(is.st_ctim)})
                at->append(std::to_string(part)).append(" ");
            out.is_young = out.is_young || in_ns(now) - in_ns(is.st_ctim) < grain;
        }
        ++at;
    }
    return out;
}

result<void> tls_files::load()
{
    if (like_.authorities.file.empty() && like_.certificate.file.empty()) return {};
    auto seen = look(); // before reading: what is written meanwhile is a change
    auto next = std::make_shared<tls_material>(like_);
    auto got = next->is_checking ? read_into("ca_file", next->authorities) : result<void>();
    if (got) got = read_into("certificate_file", next->certificate);
    if (got) got = read_into("key_file", next->key);
    if (!got) return got;
    auto const is_same = [&](pem_text tls_material::*part) { return (*next.*part).text == (*current_.*part).text; };
    bool const is_first = seen_ == sight();
    bool const is_news = is_first || !is_same(&tls_material::authorities) || !is_same(&tls_material::certificate) ||
        !is_same(&tls_material::key);
    if (is_news) {
        if (auto const tried = tls_client::make(*next); !tried) return tried.error();
        current_ = std::move(next);
        if (!is_first) ++reloads_;
    }
    seen_ = std::move(seen);
    return {};
}

void tls_files::refresh()
{
    if (!seen_.is_young && look() == seen_) return;
    (void)load();
}

result<std::shared_ptr<tls_client>> tls_source::newest()
{
    if (!files_) return made_;
    files_->refresh();
    if (of_ == files_->current()) return made_;
    auto made = tls_client::make(*files_->current());
    if (!made) return made;
    made_ = std::move(*made);
    of_ = files_->current();
    return made_;
}

} // namespace quern::net::detail
