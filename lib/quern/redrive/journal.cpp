#include <quern/redrive/journal.hpp>

#include <utility>

namespace quern::redrive {

result<journal> journal::open(std::unique_ptr<journal_file> file)
{
    auto const text = file->read();
    if (!text) return text.error();
    journal out(std::move(file));
    auto book = read_journal(*text, &out.cut_);
    if (!book) return book.error();
    out.book_ = std::move(*book);
    out.flushed_ = out.book_.last_id();
    if (out.cut_ == 0) return out;
    auto const done = out.file_->cut(text->size() - out.cut_);
    if (!done) return done.error();
    return out;
}

std::uint64_t journal::write(event e, wall_time now)
{
    if (broken_) return book_.last_id();
    e.id = book_.last_id() + 1;
    e.previous = book_.last_of(e.message);
    e.at = std::chrono::floor<std::chrono::milliseconds>(now);
    auto const fits = book_.apply(e);
    if (!fits)
        broken_ = fits.error();
    else
        pending_ += to_line(e);
    return book_.last_id();
}

result<void> journal::flush()
{
    if (!broken_ && !pending_.empty()) {
        auto const done = file_->append(pending_);
        if (!done) broken_ = done.error();
        pending_.clear();
    }
    if (broken_) return *broken_;
    flushed_ = book_.last_id();
    return {};
}

} // namespace quern::redrive
