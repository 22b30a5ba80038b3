#include <quern/policy/detail/flag_rule.hpp>

#include <algorithm>
#include <utility>

namespace quern::policy::detail {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds soon{1};            // again, while nothing is known
constexpr seconds longest_unread{10}; // of halting for that

flag_rule::flag_rule(flag_options const& options, tick now) : options_(options)
{
    if (options_.source) due_at_ = now;
}

bool flag_rule::due(tick now)
{
    if (!due_at_ || now < *due_at_) return false;
    due_at_.reset();
    if (!known_by_) known_by_ = now + std::min<milliseconds>(options_.interval, longest_unread);
    return true;
}

bool flag_rule::read(result<flag_reading> const& got, tick now, std::mt19937_64& random)
{
    auto const fifth = options_.interval.count() / 5;
    auto const pause = options_.interval + milliseconds(std::uniform_int_distribution(-fifth, fifth)(random));
    due_at_ = now + (got ? std::max<milliseconds>(pause, got->not_before) : pause);

    if (got && got->text) last_said_ = read_flag(*got->text, options_.name);
    auto const said = got ? last_said_ : flag_word::unknown;
    if (said == flag_word::unknown) {
        if (at(now) == state::unread) due_at_ = std::min(*due_at_, now + soon);
        auto why = got ? std::string("it holds neither open nor closed") : describe(got.error());
        return std::exchange(why_, std::move(why)).empty();
    }
    why_.clear();
    word_ = said;
    known_at_ = now;
    auto const until_next = std::chrono::ceil<milliseconds>(*due_at_ - now) + options_.interval; // and its answer
    keeps_for_ = std::max<milliseconds>(options_.max_age + got->not_before, until_next);
    return false;
}

bool flag_rule::is_known(tick now) const
{
    return word_ == flag_word::halt || (word_ == flag_word::run && now - known_at_ <= keeps_for_);
}

flag_rule::state flag_rule::at(tick now) const
{
    if (!options_.source) return state::none;
    if (word_ == flag_word::unknown && (!known_by_ || now < *known_by_)) return state::unread;
    if (!is_known(now)) return state::unknown;
    return word_ == flag_word::halt ? state::halt : state::run;
}

bool flag_rule::halts(tick now) const
{
    switch (at(now)) {
    case state::none:
    case state::run: return false;
    case state::unread:
    case state::halt: return true;
    case state::unknown: break;
    }
    return options_.halt_when_unknown;
}

std::optional<tick> flag_rule::wake_at(tick now) const
{
    auto out = due_at_;
    if (word_ == flag_word::unknown && known_by_ && now < *known_by_)
        out = std::min(out.value_or(*known_by_), *known_by_);
    if (word_ == flag_word::run && is_known(now)) {
        auto const too_old = known_at_ + keeps_for_ + milliseconds(1);
        out = std::min(out.value_or(too_old), too_old);
    }
    return out;
}

std::optional<seconds> flag_rule::age(tick now) const
{
    if (word_ == flag_word::unknown) return {};
    return std::max(std::chrono::floor<seconds>(now - known_at_), seconds(0)); // `now` may be of before the reading
}

std::string flag_rule::explain(tick now) const
{
    if (!options_.source) return {};
    auto const what = "flag " + options_.source->name();
    if (at(now) == state::unread)
        return what + " is being read for the first time" + (why_.empty() ? "" : ": " + why_);
    auto const since = age(now);
    auto const fails = why_.empty() ? std::string() : "; it cannot be read now: " + why_;
    std::string when = ", never read";
    if (since) when = (fails.empty() ? ", read " : ", last read ") + std::to_string(since->count()) + " s ago";
    if (is_known(now)) return what + (word_ == flag_word::halt ? " says halt" : " says run") + when + fails;
    return what + " is unknown" + when + (options_.halt_when_unknown ? ", which halts" : ", which lets it run") +
        fails;
}

} // namespace quern::policy::detail
