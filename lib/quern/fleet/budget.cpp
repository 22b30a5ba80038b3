#include <quern/fleet/budget.hpp>

#include <algorithm>
#include <array>
#include <cstdio>

namespace quern::fleet {

std::optional<failure> budget::validate() const
{
    auto const wrong = [](char const* what) { return failure(errc::invalid_option, what); };
    if (!rate && !concurrency) return wrong("a fleet's budget needs a rate or a concurrency");
    if (concurrency && (*concurrency == 0 || *concurrency > 1'000'000))
        return wrong("concurrency must be from 1 to 1,000,000");
    if (!rate) return {};
    if (auto bad = rate->validate()) return bad;
    auto const all = amounts_of(*this).rate;
    if (all < 1) return wrong("rate must be at least 1 in 1,000 s");
    if (all > 1'000'000'000) return wrong("rate must be at most 1,000,000 a second");
    return {};
}

amounts amounts_of(budget const& b)
{
    amounts out;
    out.concurrency = static_cast<std::int64_t>(b.concurrency.value_or(0));
    if (b.rate) {
        auto const seconds = std::chrono::duration<double>(b.rate->per).count();
        out.rate = static_cast<std::int64_t>(std::min(1e15, static_cast<double>(b.rate->count) * 1000 / seconds));
    }
    return out;
}

consumer_limits limits_of(amounts const& slice, budget const& all)
{
    policy::rate const none{1, std::chrono::hours(24), 1, false};
    bool const nothing = all.concurrency && slice.concurrency == 0;
    consumer_limits out;
    if (all.rate || nothing) out.rate = none;
    if (all.rate && slice.rate > 0 && !nothing)
        out.rate =
            policy::rate{slice.rate, std::chrono::seconds(1'000), std::max<std::int64_t>(1, slice.rate / 20'000)};
    if (all.concurrency)
        out.handler_concurrency = static_cast<std::size_t>(std::max<std::int64_t>(1, slice.concurrency));
    return out;
}

std::string to_string(amounts const& a)
{
    std::array<char, 80> text{};
    auto const rate = static_cast<double>(a.rate) / 1000;
    if (a.rate != 0 && a.concurrency != 0)
        std::snprintf(
            text.data(), text.size(), "%.4g/s and %lld at once", rate, static_cast<long long>(a.concurrency));
    else if (a.concurrency != 0)
        std::snprintf(text.data(), text.size(), "%lld at once", static_cast<long long>(a.concurrency));
    else
        std::snprintf(text.data(), text.size(), "%.4g/s", rate);
    return text.data();
}

} // namespace quern::fleet
