#include <quern/redrive/journal.hpp>

#include <utility>

namespace quern::redrive {

result<journal> journal::open(std::unique_ptr<journal_file> file)
{
    journal out(std::move(file));
    event_reader reader([&out](event&& e) { return out.book_.apply(e); });
    auto const read = out.file_->read([&reader](std::string_view piece) { return reader.read(piece); });
    if (!read) return read.error();
    auto const extent = reader.end();
    if (!extent) return extent.error();
    if (auto const wrong = shorter_than(out.file_->least_size(), extent->whole)) return *wrong;
    out.cut_ = extent->torn;
    out.flushed_ = out.book_.last_id();
    out.forget_cancel();
    if (out.cut_ == 0) return out;
    auto const done = out.file_->cut(extent->whole);
    if (!done) return done.error();
    return out;
}

std::uint64_t journal::write(event e, wall_time now)
{
    e.id = book_.last_id() + 1;
    e.previous = book_.last_of(e.message);
    e.at = std::chrono::floor<std::chrono::milliseconds>(now);
    auto const fits = book_.apply(e);
    if (!fits && !broken_) broken_ = fits.error();
    if (!broken_ && file_) pending_ += to_line(e);
    if (!broken_ && !file_) flushed_ = e.id;
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
    forget_cancel();
    return {};
}

/// A wish outlasts the process that did not carry it out, and no run.
void journal::forget_cancel()
{
    auto const phase = book_.now();
    auto const can_end = phase == run_book::phase::running || phase == run_book::phase::stopped;
    if (!can_end && is_cancelled()) file_->forget_cancel();
}

} // namespace quern::redrive
