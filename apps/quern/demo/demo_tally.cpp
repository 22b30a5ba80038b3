#include "demo/demo_tally.hpp"

#include <algorithm>
#include <cmath>

namespace quern::app {

void tally::given(std::size_t number, tick now)
{
    if (given_++ == 0) first_given_at_ = last_acked_at_ = now;
    messages_[number].given_at = now;
}

void tally::sent(std::size_t number, bool taken)
{
    ++(taken ? sent_ : refused_);
    messages_[number].sent = taken;
}

void tally::handle(std::size_t number, std::string_view message_id)
{
    numbers_.insert_or_assign(std::string(message_id), number);
    if (std::exchange(messages_[number].handled, true)) ++duplicates_;
}

void tally::deleted(std::string_view message_id, tick now)
{
    auto const at = numbers_.find(std::string(message_id));
    if (at == numbers_.end()) return;
    auto& message = messages_[at->second];
    numbers_.erase(at);
    if (std::exchange(message.acked, true)) return;
    ++acked_;
    message.acked_at = last_acked_at_ = now;
}

std::size_t tally::missing() const
{
    auto const is_missing = [](fate const& m) { return m.sent && !m.acked; };
    return static_cast<std::size_t>(std::ranges::count_if(messages_, is_missing));
}

double tally::latency(double part) const
{
    std::vector<double> took;
    took.reserve(acked_);
    for (auto const& m : messages_) {
        if (m.acked) took.push_back(std::chrono::duration<double, std::milli>(m.acked_at - m.given_at).count());
    }
    if (took.empty()) return 0;
    auto const rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(took.size())));
    auto const at = took.begin() + static_cast<std::ptrdiff_t>(std::clamp<std::size_t>(rank, 1, took.size()) - 1);
    std::ranges::nth_element(took, at);
    return *at;
}

} // namespace quern::app
