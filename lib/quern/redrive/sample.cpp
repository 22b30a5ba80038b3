#include <quern/redrive/sample.hpp>

#include <quern/core/detail/printable.hpp>
#include <quern/redrive/plan.hpp>
#include <quern/sqs/detail/copy.hpp>
#include <quern/sqs/queue_reference.hpp>

#include <algorithm>
#include <utility>

namespace quern::redrive {

using namespace quern::detail;

namespace {

bool continues_a_character(char c)
{
    return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

/// See sample_group.
struct shared_value {
    std::string value;
    bool unreadable = false;

    auto operator<=>(shared_value const&) const = default;
};

template <class Key>
std::vector<sample_group> grouped(std::vector<sampled> const& all, Key const& key)
{
    std::vector<sample_group> out;
    std::map<shared_value, std::size_t> place_of;
    for (auto const& one : all) {
        auto const [at, is_new] = place_of.emplace(key(one), out.size());
        if (is_new) {
            out.emplace_back().value = at->first.value;
            out.back().unreadable = at->first.unreadable;
            out.back().example = one.id;
        }
        auto& group = out[at->second];
        ++group.count;
        if (!one.sent_at) continue;
        group.oldest = std::min(group.oldest.value_or(*one.sent_at), *one.sent_at);
        group.newest = std::max(group.newest.value_or(*one.sent_at), *one.sent_at);
    }
    std::ranges::stable_sort(out, std::greater(), &sample_group::count);
    return out;
}

} // namespace

std::string cut(std::string_view text, std::size_t bytes)
{
    if (text.size() <= bytes) return printable(std::string(text));
    while (bytes != 0 && continues_a_character(text[bytes]))
        --bytes;
    return printable(std::string(text.substr(0, bytes))) + "…";
}

sample::sample(std::size_t body_bytes, std::optional<part> by) : body_bytes_(body_bytes), by_(std::move(by)) {}

bool sample::add(sqs::message const& m)
{
    namespace mark = sqs::detail::mark;
    ++receives_;
    auto const known = place_of_.find(m.id);
    if (known != place_of_.end()) {
        seen_[known->second].receives = m.receive_count();
        return false;
    }
    place_of_.emplace(m.id, seen_.size());
    auto const text = [](std::string_view of_a_stranger) { return printable(std::string(of_a_stranger)); };
    auto const its = history_of(m);
    auto& one = seen_.emplace_back();
    one.id = text(m.id);
    one.sent_at = m.sent_at();
    one.first_received = text(its.first_received);
    one.source = text(sqs::queue_name_in(m.system("DeadLetterQueueSourceArn")));
    if (auto const* const from = m.attribute(mark::source); from && one.source.empty())
        one.source = text(from->value);
    if (auto const* const why = m.attribute(mark::reason)) one.reason = text(why->value);
    one.group = text(m.group_id());
    one.body = cut(m.body, body_bytes_);
    if (by_) one.in_common = by_->of(m);
    if (one.in_common.text) one.in_common.text = text(*one.in_common.text);
    one.receives = m.receive_count();
    one.attempts = its.attempts;
    one.size = m.body.size();
    return true;
}

std::vector<sample_group> sample::by_source() const
{
    return grouped(seen_, [](sampled const& one) { return shared_value{one.source}; });
}

std::vector<sample_group> sample::by_reason() const
{
    return grouped(seen_, [](sampled const& one) { return shared_value{one.reason}; });
}

std::vector<sample_group> sample::by_part() const
{
    if (!by_) return {};
    return grouped(seen_, [](sampled const& one) {
        return shared_value{one.in_common.text.value_or(std::string()), !one.in_common.readable};
    });
}

std::size_t sample::at_their_last(int max_receive_count) const
{
    auto const is_at_last = [&](sampled const& one) { return one.receives >= max_receive_count; };
    return static_cast<std::size_t>(std::ranges::count_if(seen_, is_at_last));
}

} // namespace quern::redrive
