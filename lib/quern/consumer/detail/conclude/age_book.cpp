#include <quern/consumer/detail/conclude/age_book.hpp>

#include <algorithm>

namespace quern::detail {

using namespace std::chrono_literals;

namespace {

constexpr auto memory = 14 * 24h; // SQS keeps no message for longer

} // namespace

void age_book::begin(wall_time now)
{
    if (!since_) since_ = now;
}

void age_book::end(wall_time now)
{
    if (since_) add(*since_, now);
    since_.reset();
}

void age_book::add(wall_time from, wall_time until)
{
    if (until <= from) return; // a clock was set back meanwhile
    auto const first = std::ranges::lower_bound(past_, from, {}, &stretch::until);
    auto last = first;
    for (; last != past_.end() && last->from <= until; ++last) {
        from = std::min(from, last->from);
        until = std::max(until, last->until);
    }
    past_.insert(past_.erase(first, last), stretch{from, until});
    std::erase_if(past_, [newest = past_.back().until](stretch const& s) { return s.until < newest - memory; });
    if (past_.size() <= most) return;
    forget_until(past_.front().until);
    past_.erase(past_.begin());
}

std::optional<wall_time> age_book::last(wall_time now) const
{
    if (since_) return now;
    return past_.empty() ? forgotten_ : past_.back().until;
}

void age_book::add(age_book const& other)
{
    if (other.forgotten_) forget_until(*other.forgotten_);
    for (auto const& s : other.past_)
        add(s.from, s.until);
}

age_book& age_books::of(std::uint64_t who, wall_time now)
{
    if (auto const known = books_.find(who); known != books_.end()) {
        by_use_.splice(by_use_.begin(), by_use_, known->second);
    } else {
        if (books_.size() >= most) {
            if (auto const last = by_use_.back().second.last(now)) none_.forget_until(*last);
            books_.erase(by_use_.back().first);
            by_use_.pop_back();
        }
        by_use_.emplace_front(who, age_book());
        if (auto const last = none_.last(now)) by_use_.front().second.forget_until(*last); // it may have had one
        books_.emplace(who, by_use_.begin());
    }
    return by_use_.front().second;
}

age_book const& age_books::known(std::uint64_t who) const
{
    auto const at = books_.find(who);
    return at == books_.end() ? none_ : at->second->second;
}

std::chrono::milliseconds age_book::stood_back(
    wall_time from, wall_time until, std::initializer_list<age_book const*> books)
{
    age_book all;
    for (auto const* const book : books) {
        auto const cut = [&](wall_time a, wall_time b) { all.add(std::max(a, from), std::min(b, until)); };
        if (book->forgotten_) cut(from, *book->forgotten_);
        for (auto const& s : book->past_)
            cut(s.from, s.until);
        if (book->since_) cut(*book->since_, until);
    }
    auto out = all.forgotten_ ? *all.forgotten_ - from : wall_time::duration();
    for (auto const& s : all.past_)
        out += s.until - s.from;
    return std::chrono::floor<std::chrono::milliseconds>(out);
}

} // namespace quern::detail
