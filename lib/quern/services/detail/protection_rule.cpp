#include <quern/services/detail/protection_rule.hpp>

#include <quern/core/detail/printable.hpp>
#include <quern/core/simdjson.hpp>

#include <algorithm>

namespace quern::services::detail {

using namespace quern::detail;
using namespace std::chrono_literals;

void protection_rule::began(tick now)
{
    if (running_++ == 0) busy_since_ = now;
}

void protection_rule::ended(tick now)
{
    if (--running_ == 0) idle_since_ = now;
}

void protection_rule::heard(tick)
{
    answers_ = true;
}

void protection_rule::finish(tick now)
{
    over_ = true;
    not_before_ = now;
}

protection_rule::step protection_rule::poll(tick now)
{
    if (asked_ != step::nothing || now < not_before_) return step::nothing;
    if (running_ != 0 && !over_ && (!on_ || now >= renew_at_)) asked_ = step::protect;
    bool const is_idle = over_ || (running_ == 0 && now >= idle_since_ + limits_.linger);
    if (is_idle && perhaps_on_) asked_ = step::release;
    asked_at_ = now;
    return asked_;
}

void protection_rule::answered(answer a, tick now)
{
    bool const on = asked_ == step::protect;
    asked_ = step::nothing;
    if (a == answer::silent) perhaps_on_ = true;
    if (a != answer::done) {
        answers_ = answers_ && a == answer::refused && now - asked_at_ <= limits_.patience;
        failures_ = std::min(failures_ + 1, 6);
        not_before_ = now + 1s * (1 << failures_); // to about a minute
        return;
    }
    answers_ = now - asked_at_ <= limits_.patience;
    failures_ = 0;
    on_ = perhaps_on_ = on;
    renew_at_ = asked_at_ + limits_.expires / 2;
}

std::optional<tick> protection_rule::wait_until(tick now)
{
    if (on_ && asked_ != step::release) return {};
    if (!answers_ || now < not_before_ || over_) return {};
    auto const until = std::max(busy_since_, asked_ == step::protect ? asked_at_ : busy_since_) + limits_.patience;
    if (now < until) return until;
    answers_ = false;
    return {};
}

std::optional<tick> protection_rule::wake_at() const
{
    if (asked_ != step::nothing) return {};
    std::optional<tick> out;
    if (over_) {
        if (perhaps_on_) out = not_before_;
        return out;
    }
    if (running_ != 0)
        out = on_ ? renew_at_ : tick();
    else if (perhaps_on_)
        out = idle_since_ + limits_.linger;
    if (out) out = std::max(*out, not_before_);
    return out;
}

namespace {

/// The texts at these places of an object: {"error":{"Code":"…","Message":"…"}}.
std::string text_at(simdjson::ondemand::object& in, char const* outer, char const* inner)
{
    std::string_view out;
    if (in[outer][inner].get_string().get(out)) return {};
    return std::string(out);
}

} // namespace

protection_reply read_protection_reply(int status, std::string_view body, bool asked_for)
{
    using answer = protection_rule::answer;
    namespace od = simdjson::ondemand;
    protection_reply out{answer::refused, "HTTP " + std::to_string(status)};
    od::parser parser;
    simdjson::padded_string const padded(body);
    od::document document;
    od::object object;
    if (parser.iterate(padded).get(document) || document.get_object().get(object)) return out;
    bool enabled = false;
    if (status / 100 == 2 && !object["protection"]["ProtectionEnabled"].get_bool().get(enabled)) {
        if (enabled == asked_for) return {answer::done, {}};
        out.why += enabled ? ": it stays protected" : ": it is not protected";
        return out;
    }
    for (auto const* const part : {"error", "failure"}) {
        for (auto const* const name : {"Code", "Reason", "Message", "Detail"}) {
            if (object.reset().error()) return out;
            auto const text = text_at(object, part, name);
            if (!text.empty()) out.why += ": " + printable(text);
        }
    }
    return out;
}

} // namespace quern::services::detail
