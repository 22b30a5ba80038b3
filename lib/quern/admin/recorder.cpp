#include <quern/admin/recorder.hpp>

#include <quern/core/detail/printable.hpp>

#include <algorithm>

namespace quern::admin {

using namespace quern::detail;

namespace {

using phase = policy::breaker::phase;

constexpr auto bounds = [] {
    std::array<tick::duration, duration_bounds.size()> out{};
    std::ranges::transform(duration_bounds, out.begin(), [](int ms) { return std::chrono::milliseconds(ms); });
    return out;
}();

char const* words_for(phase p)
{
    switch (p) {
    case phase::open: return "open";
    case phase::half_open: return "half open";
    case phase::closed: break;
    }
    return "closed";
}

/// The consumer's plan for a message that its handler did not like, in words.
char const* words_for(outcome::kind k)
{
    switch (k) {
    case outcome::kind::retry: return "it is tried again";
    case outcome::kind::retry_after: return "it is put off";
    case outcome::kind::reject: return "it is rejected";
    case outcome::kind::release: return "it is given back";
    case outcome::kind::unavailable: return "what it needs is unavailable";
    case outcome::kind::ack: break;
    }
    return "";
}

} // namespace

char const* words_for(handler_end how)
{
    switch (how) {
    case handler_end::threw: return "handler failed";
    case handler_end::unreadable: return "message unreadable";
    case handler_end::timed_out: return "handler took too long";
    case handler_end::cancelled: return "handler cancelled";
    case handler_end::returned:
    case handler_end::called_off: break;
    }
    return nullptr;
}

recorder::recorder(clock& time, std::shared_ptr<observer> next) : forwarding_observer(std::move(next)), time_(time) {}

void recorder::add(classes& to, tick::duration d)
{
    auto const at = std::ranges::lower_bound(bounds, d);
    ++to[static_cast<std::size_t>(at - bounds.begin())];
}

void recorder::note(std::string what, observed_message const* m, std::string text)
{
    trouble one{time_.wall(), std::move(what), {}, 0, printable(std::move(text))};
    if (m) {
        one.message = printable(std::string(m->id));
        one.attempt = m->receive_count;
    }
    std::lock_guard const held(lock_);
    troubles_.push_front(std::move(one));
    if (troubles_.size() > kept) troubles_.pop_back();
}

recorded recorder::look() const
{
    recorded out;
    auto const copy = [](duration_counts& to, classes const& from) { std::ranges::copy(from, to.begin()); };
    copy(out.queued, queued_);
    copy(out.waited, waited_);
    copy(out.handled, handled_);
    copy(out.settling, settling_);
    std::lock_guard const held(lock_);
    out.breakers = breakers_;
    out.troubles.assign(troubles_.begin(), troubles_.end());
    return out;
}

void recorder::received(observed_message const& m)
{
    if (m.queued) add(queued_, *m.queued);
    forwarding_observer::received(m);
}

void recorder::began(observed_message const& m)
{
    add(waited_, m.waited);
    forwarding_observer::began(m);
}

void recorder::ended(observed_message const& m, handler_end how, outcome::kind verdict)
{
    if (how != handler_end::called_off) add(handled_, m.handled);
    bool const frowned = how == handler_end::returned && verdict != outcome::kind::ack;
    if (auto const* const words = frowned ? "handler refused" : words_for(how)) {
        auto text = std::string(m.said);
        if (!text.empty()) text += "; ";
        note(words, &m, text + words_for(verdict));
    }
    forwarding_observer::ended(m, how, verdict);
}

void recorder::lease_lost(observed_message const& m)
{
    note("lease lost", &m, "it may be handled twice");
    forwarding_observer::lease_lost(m);
}

void recorder::settled(observed_message const& m, message_end how, std::chrono::seconds again)
{
    add(settling_, m.settling);
    if (how == message_end::rejected) note("rejected", &m, "");
    forwarding_observer::settled(m, how, again);
}

void recorder::receive_failed(failure const& why, int in_a_row)
{
    note("receive failed", nullptr, describe(why) + ", " + std::to_string(in_a_row) + " in a row");
    forwarding_observer::receive_failed(why, in_a_row);
}

void recorder::breaker_changed(std::string_view dependency, phase from, phase to)
{
    auto const name = printable(std::string(dependency));
    if (to != phase::closed) note(to == phase::open ? "breaker opened" : "breaker half open", nullptr, name);
    {
        std::lock_guard const held(lock_);
        if (to == phase::closed)
            breakers_.erase(name);
        else if (breakers_.size() < most_breakers || breakers_.contains(name))
            breakers_[name] = words_for(to);
    }
    forwarding_observer::breaker_changed(dependency, from, to);
}

} // namespace quern::admin
