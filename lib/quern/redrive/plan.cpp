#include <quern/redrive/plan.hpp>

#include <quern/sqs/detail/copy.hpp>
#include <quern/sqs/limits.hpp>
#include <quern/sqs/queue_reference.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

namespace quern::redrive {
namespace {

namespace mark = sqs::detail::mark;
using std::chrono::milliseconds;

constexpr milliseconds longest_delay = sqs::max_delay;
constexpr milliseconds longest_wait = std::chrono::hours(24) * 30;

milliseconds delay_of(int attempt, plan_policy const& policy, std::mt19937_64& random)
{
    if (policy.delay_base.count() == 0) return milliseconds(0);
    // A backoff ends at 12 hours, so longer ones are counted in seconds.
    auto const scale = policy.delay_max > longest_delay ? 1'000 : 1;
    auto const series = policy::backoff::exponential(policy.delay_base / scale, 2.0, policy.delay_max / scale);
    return series.with(policy.jitter).delay(attempt, random) * scale;
}

/// The copy with our attributes; nothing when there is no room for them. The message's own are never dropped.
std::optional<sqs::send_message_entry> marked_copy(sqs::message const& m, history const& its, int attempt)
{
    auto const count = std::to_string(attempt);
    auto const counted = [&](sqs::attribute_value as) -> std::optional<sqs::send_message_entry> {
        auto copy = sqs::detail::copy_of(m);
        if (!sqs::detail::set_if_it_fits(copy, mark::attempt, std::move(as), true)) return {};
        return copy;
    };
    auto const name_id = [&](sqs::send_message_entry& copy) {
        sqs::detail::set_if_it_fits(copy, mark::original_id, {"String", std::string(m.id)}, false);
        return copy.attributes.contains(std::string(mark::original_id));
    };
    auto apart = counted({"Number", count});
    bool const has_first = its.names_first || its.first_received.empty();
    if (apart && !has_first &&
        !sqs::detail::set_if_it_fits(*apart, mark::first_received, {"String", its.first_received}, false))
        apart.reset();
    if (apart && (name_id(*apart) || has_first)) return apart;
    auto both = counted({"String", count + ' ' + its.first_received});
    if (both) name_id(*both);
    return both;
}

void address(sqs::send_message_entry& copy, sqs::message const& m, std::string_view to, std::string deduplication_id)
{
    if (!m.group_id().empty()) copy.group_id = std::string(m.group_id());
    if (!to.ends_with(".fifo")) return;
    if (!copy.group_id) copy.group_id = std::string(m.id); // on its own: nothing was said of an order
    copy.deduplication_id = std::move(deduplication_id);
}

} // namespace

std::optional<failure> plan_policy::validate() const
{
    auto const wrong = [](char const* what) { return failure(errc::invalid_option, what); };
    if (max_attempts < 1 || max_attempts > 1'000) return wrong("max_attempts must be 1 to 1000");
    if (delay_base.count() < 0) return wrong("delay_base must not be negative");
    if (delay_max.count() < 0 || delay_max > (waits ? longest_wait : longest_delay))
        return wrong(
            waits ? "delay_max must be 0 to 30 days" : "delay_max must be 0 to 15 minutes; longer takes a journal");
    if (delay_base > delay_max) return wrong("delay_base must not be longer than delay_max");
    return {};
}

history history_of(sqs::message const& m)
{
    history out;
    if (auto const* own = m.attribute(mark::first_received)) {
        out.first_received = own->value;
        out.names_first = true;
    }
    if (auto const* marked = m.attribute(mark::attempt)) {
        auto const text = marked->value;
        auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), out.attempts);
        auto const rest = text.substr(static_cast<std::size_t>(end - text.data()));
        out.is_marked = true;
        out.is_readable = ec == std::errc() && out.attempts >= 0 && (rest.empty() || rest.starts_with(' '));
        if (!out.is_readable) out.attempts = 0;
        if (out.is_readable && rest.size() > 1 && !out.names_first) out.first_received = rest.substr(1);
    }
    if (out.first_received.empty() && !out.names_first) {
        if (auto const first = m.first_received_at()) out.first_received = sqs::detail::rfc3339_ms(*first);
    }
    return out;
}

sqs::send_message_entry isolated_copy(sqs::message const& m, route const& way, std::string_view reason)
{
    auto const its = history_of(m);
    auto const source = m.system("DeadLetterQueueSourceArn");
    auto copy = sqs::detail::copy_of(m);
    auto const add = [&](std::string_view name, std::string_view value, bool replace) {
        sqs::detail::set_if_it_fits(copy, name, {"String", std::string(value)}, replace);
    };
    add(mark::reason, reason, true);
    add(mark::original_id, m.id, false);
    add(mark::source, source.empty() ? way.from : sqs::queue_name_in(source), false);
    if (!its.names_first) add(mark::first_received, its.first_received, false);
    address(copy, m, way.poison, std::string(m.id));
    return copy;
}

plan plan_for(sqs::message const& m, route const& way, plan_policy const& policy, std::mt19937_64& random,
    std::optional<int> counted)
{
    auto its = history_of(m);
    if (!its.is_marked && counted.value_or(0) > 0) {
        its.attempts = *counted;
        its.is_marked = true;
    }
    auto const sent = m.sent_at();
    plan out;
    out.attempt = its.attempts;
    out.has_come_back = policy.cutoff && its.is_marked && sent && *sent >= *policy.cutoff;
    auto const isolate = [&](std::string why) {
        out.what = action::isolate;
        out.reason = std::move(why);
        out.copy = isolated_copy(m, way, out.reason);
        return out;
    };
    if (policy.isolate_all) return isolate(*policy.isolate_all);
    if (!its.is_readable) return isolate("its attribute x-redrive-attempt is no count");
    if (its.attempts >= policy.max_attempts)
        return isolate("its attempts are used up (" + std::to_string(its.attempts) + " of " +
            std::to_string(policy.max_attempts) + ")");
    if (out.has_come_back) {
        out.reason = "it has come back since the run began";
        return out;
    }

    auto const attempt = its.attempts + 1;
    auto copy = marked_copy(m, its, attempt);
    if (!copy && !counted)
        return isolate("it leaves no room for the attribute x-redrive-attempt, and there is no journal to count it");
    out.is_unmarked = !copy;
    if (!copy) copy = sqs::detail::copy_of(m);
    out.what = action::send;
    out.attempt = attempt;
    out.copy = std::move(*copy);
    out.delay = delay_of(attempt, policy, random);
    address(out.copy, m, way.to, std::string(m.id) + "-redrive-" + std::to_string(attempt));
    if (out.delay.count() == 0) return out;
    if (way.to.ends_with(".fifo") || out.delay > longest_delay)
        out.not_before = std::max(policy.began_at, sent.value_or(policy.began_at)) + out.delay;
    else
        out.copy.delay = std::chrono::ceil<std::chrono::seconds>(out.delay);
    return out;
}

} // namespace quern::redrive
