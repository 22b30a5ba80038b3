#include <quern/producer/explanation.hpp>

#include <array>
#include <cstdio>

namespace quern {
namespace {

using bound = producer_explanation::bound;

/// "of 10 messages and 10.0 ms each make 16000 messages a second"
std::string speed(producer_explanation const& e)
{
    auto const took = std::chrono::duration<double, std::milli>(e.call_takes).count();
    if (took <= 0) return "of which none has ended yet";
    std::array<char, 120> text{};
    std::snprintf(text.data(), text.size(), "of %.0f messages and %.1f ms each make %.0f messages a second",
        e.messages_each, took, static_cast<double>(e.calls_now) * e.messages_each * 1000 / took);
    return text.data();
}

std::string sentence(producer_explanation const& e)
{
    auto const number = [](std::size_t n) { return std::to_string(n); };
    switch (e.by) {
    case bound::nothing: break;
    case bound::calls:
        if (e.calls_now < e.max_calls)
            return "calls are the bound, and grow: " + number(e.calls_now) + " of at most " + number(e.max_calls) +
                " (max_calls) " + speed(e);
        return "calls are the bound: " + number(e.calls_now) + " (max_calls) " + speed(e);
    case bound::messages: return "the buffer is the bound: max_buffered, " + number(e.held) + " messages";
    case bound::bytes: return "bytes are the bound: max_buffered_bytes, " + number(e.bytes) + " held";
    case bound::service:
        if (e.put_off != 0)
            return "the service is the bound: " + number(e.put_off) + " messages wait to be tried again";
        return "the service is the bound: more requests at once bring no more, and " + number(e.calls_now) + ' ' +
            speed(e);
    case bound::groups:
        return "order is the bound: " + number(e.behind) + " messages wait for another of their group";
    }
    return "nothing is the bound";
}

} // namespace

char const* to_string(bound by)
{
    switch (by) {
    case bound::nothing: break;
    case bound::calls: return "calls";
    case bound::messages: return "messages";
    case bound::bytes: return "bytes";
    case bound::service: return "service";
    case bound::groups: return "groups";
    }
    return "nothing";
}

std::string to_string(producer_explanation const& e)
{
    auto const count = [](std::size_t n, char const* one) {
        return std::to_string(n) + ' ' + one + (n == 1 ? "" : "s");
    };
    auto text = count(e.calls, "request") + " under way, " + count(e.held, "message") + " held";
    if (e.outside != 0) text += ", " + count(e.outside, "send") + (e.outside == 1 ? " waits" : " wait") + " for room";
    text += "; " + sentence(e);
    if (e.last_problem)
        text += "; the last problem, " + std::to_string(e.last_problem->ago.count() / 1000) +
            " s ago: " + e.last_problem->text;
    return text;
}

} // namespace quern
