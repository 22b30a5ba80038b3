#include <quern/fleet/detail/slice_rule.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

namespace quern::fleet::detail {

namespace {

constexpr double hungry = 0.8;    // of its slice: who uses so much may want more
constexpr int sated_after = 5;    // readings; fewer may be chance
constexpr double spare = 1.5;     // times what was used: the wish of who is sated
constexpr std::int64_t part = 50; // a wish is a multiple of this part of the budget

amounts least(amounts const& a, amounts const& b)
{
    return {std::min(a.rate, b.rate), std::min(a.concurrency, b.concurrency)};
}

} // namespace

std::string to_text(member const& m)
{
    std::string out;
    for (auto const n : {m.beat, m.slice.rate, m.slice.concurrency, m.wish.rate, m.wish.concurrency})
        out += (out.empty() ? "" : " ") + std::to_string(n);
    return out;
}

std::optional<member> member_from(std::string name, std::string_view text)
{
    std::array<std::int64_t, 5> numbers{};
    auto const* at = text.data();
    auto const* const end = at + text.size();
    for (auto& n : numbers) {
        if (&n != numbers.data() && (at == end || *at++ != ' ')) return {};
        auto const [to, bad] = std::from_chars(at, end, n);
        if (bad != std::errc()) return {};
        at = to;
    }
    constexpr std::int64_t most = std::int64_t(1) << 50; // sums of many still fit
    if (at != end || numbers[1] < 0 || numbers[1] > most || numbers[2] < 0 || numbers[2] > most) return {};
    return member{std::move(name), numbers[0], {numbers[1], numbers[2]}, {numbers[3], numbers[4]}};
}

std::vector<std::int64_t> share_out(std::int64_t all, std::vector<std::int64_t> const& wishes)
{
    std::vector<std::int64_t> out(wishes.size(), 0);
    std::vector<std::size_t> order(wishes.size());
    std::iota(order.begin(), order.end(), std::size_t());
    auto const modest = [&](std::size_t a, std::size_t b) {
        return static_cast<std::uint64_t>(wishes[a]) < static_cast<std::uint64_t>(wishes[b]); // -1 is the largest
    };
    std::stable_sort(order.begin(), order.end(), modest);
    auto rest = all;
    auto left = static_cast<std::int64_t>(order.size());
    for (auto const i : order) {
        auto const share = (rest + left - 1) / left; // rounded up: what cannot be divided goes to the first
        out[i] = wishes[i] < 0 ? share : std::min(wishes[i], share);
        rest -= out[i];
        --left;
    }
    left = static_cast<std::int64_t>(order.size());
    for (auto const i : order) { // what nobody wishes for
        auto const more = rest / left--;
        out[i] += more;
        rest -= more;
    }
    return out;
}

void slice_rule::wake(tick now)
{
    if (stood_still(now)) in_use_ = {}; // buried, for all it knows
}

/// Counts for how long each has been silent.
void slice_rule::watch(item_state const& item, tick now)
{
    auto const passed = read_at_ ? std::min<std::chrono::nanoseconds>(now - *read_at_, read_gap) : read_gap * 0;
    read_at_ = now;
    std::erase_if(others_, [&](auto const& o) { return !item.members.contains(o.first); });
    for (auto const& [name, text] : item.members) {
        if (name == name_) continue;
        auto& o = others_[name];
        o.silent = o.text == text ? o.silent + passed : std::chrono::nanoseconds();
        o.text = text;
    }
}

/// Only this process writes under its name, so its slice is the one that stands there, also where the answer of a
/// write was lost.
void slice_rule::take_up(item_state const& item, tick now)
{
    auto const found = item.members.find(name_);
    was_ = found == item.members.end() ? std::string() : found->second;
    mine_ = was_.empty() ? std::nullopt : member_from(name_, was_);
    in_use_ = mine_ && !stood_still(now) ? mine_->slice : amounts();
    pending_.reset();
}

/// A slice that is not used is lent; the first sign that more is needed has it back.
void slice_rule::learn_wish(usage const& used)
{
    wish_ = {-1, -1};
    if (!used.rate || !mine_) return;
    bool const is_hungry = *used.rate * 1000 >= hungry * static_cast<double>(mine_->slice.rate);
    sated_ = is_hungry ? 0 : sated_ + 1;
    peak_ = is_hungry ? 0 : std::max(peak_, *used.rate);
    if (sated_ < sated_after) return;
    auto const step = std::max<std::int64_t>(1, all_.rate / part);
    auto const steps = static_cast<std::int64_t>(spare * peak_ * 1000 / static_cast<double>(step)) + 1;
    wish_.rate = steps * step;
    if (mine_->wish.rate > wish_.rate && mine_->wish.rate - wish_.rate <= step) wish_.rate = mine_->wish.rate;
    if (sated_ % 30 == 0) peak_ = *used.rate; // an hour ago is no guide
}

amounts slice_rule::target(std::vector<member> const& living) const
{
    std::vector<std::int64_t> rates, places;
    std::size_t me = 0;
    for (auto const& m : living) {
        if (m.name == name_) me = rates.size();
        rates.push_back(m.wish.rate);
        places.push_back(m.wish.concurrency);
    }
    return {share_out(all_.rate, rates)[me], share_out(all_.concurrency, places)[me]};
}

std::optional<item_write> slice_rule::read(item_state const& item, usage const& used, tick now)
{
    watch(item, now);
    take_up(item, now);
    learn_wish(used);
    auto const had = mine_ ? mine_->slice : amounts();
    item_write out;
    out.was = was_;
    amounts free{all_.rate - had.rate, all_.concurrency - had.concurrency};
    std::vector<member> living{{name_, beat_, had, wish_}};
    for (auto const& [name, o] : others_) {
        auto const m = member_from(name, o.text);
        if (o.silent >= silent_after) {
            out.buried.emplace_back(name, o.text);
        } else if (m) {
            free.rate -= m->slice.rate;
            free.concurrency -= m->slice.concurrency;
            living.push_back(*m);
        }
    }
    std::ranges::sort(living, {}, &member::name);
    auto const wanted = target(living);
    auto const next_of = [](std::int64_t has, std::int64_t wants, std::int64_t room) {
        return wants <= has ? wants : has + std::clamp<std::int64_t>(room, 0, wants - has);
    };
    amounts next{
        next_of(had.rate, wanted.rate, free.rate), next_of(had.concurrency, wanted.concurrency, free.concurrency)};
    in_use_ = least(in_use_, next);
    wanted_ = next;
    if (used.concurrency) // whose handlers run on has not given their places back yet
        next.concurrency = std::max(next.concurrency, std::min(had.concurrency, *used.concurrency));

    bool const due = !mine_ || !confirmed_at_ || now - *confirmed_at_ >= beat_every;
    bool const news = !mine_ || next != had || wish_ != mine_->wish || !out.buried.empty();
    if (!due && !news) return {};
    bool const grows = next.rate > had.rate || next.concurrency > had.concurrency;
    if (grows) out.version = item.version;
    pending_ = member{name_, ++beat_, next, wish_};
    out.becomes = to_text(*pending_);
    return out;
}

void slice_rule::written(tick now)
{
    fails_ = false;
    if (!pending_) return;
    in_use_ = least(pending_->slice, wanted_);
    mine_ = std::exchange(pending_, std::nullopt);
    was_ = to_text(*mine_);
    confirmed_at_ = now;
}

void slice_rule::refused(item_state const& found)
{
    fails_ = false;
    auto const mine = found.members.find(name_);
    bool const buried = !was_.empty() && mine == found.members.end();
    if (buried) in_use_ = {};
}

std::optional<item_write> slice_rule::leave()
{
    in_use_ = {};
    if (was_.empty()) return {};
    item_write out;
    out.was = was_;
    return out;
}

} // namespace quern::fleet::detail
