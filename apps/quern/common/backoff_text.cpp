#include "common/backoff_text.hpp"

#include "common/duration_text.hpp"

#include <quern/core/detail/text/characters.hpp>
#include <quern/core/detail/text/reading.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

using namespace quern::detail;

namespace quern::app {
namespace {

using std::chrono::milliseconds;

constexpr char const* backoff_forms = "must be a series of delays, as exponential,1s,factor=2,cap=15m,jitter=half or "
                                      "linear,10s,step=10s or fibonacci,1s or a list, 5s,30s,2m";

/// The pieces of such a text.
struct series {
    std::string_view kind; ///< empty: a list
    std::vector<milliseconds> delays;
    std::optional<double> factor;
    std::optional<milliseconds> step, cap;
    std::optional<policy::jitter> jitter;
};

std::optional<policy::jitter> jitter_from(std::string_view text)
{
    if (text == "none") return policy::jitter::none;
    if (text == "half") return policy::jitter::half;
    if (text == "full") return policy::jitter::full;
    auto const part = text::number_in<double>(text);
    if (!part || !(*part >= 0 && *part <= 1)) return {};
    return policy::jitter::fraction(*part);
}

/// Takes up one piece. False when it is none.
bool take(series& to, std::string_view piece)
{
    auto const equals = piece.find('=');
    if (equals == piece.npos) {
        if (to.delays.empty() && to.kind.empty() &&
            (piece == "exponential" || piece == "linear" || piece == "fibonacci")) {
            to.kind = piece;
            return true;
        }
        auto const delay = duration_from(piece);
        if (delay) to.delays.push_back(*delay);
        return delay.has_value();
    }
    auto const name = piece.substr(0, equals), value = piece.substr(equals + 1);
    if (name == "factor") return (to.factor = text::number_in<double>(value)).has_value();
    if (name == "step") return (to.step = duration_from(value)).has_value();
    if (name == "cap") return (to.cap = duration_from(value)).has_value();
    if (name == "jitter") return (to.jitter = jitter_from(value)).has_value();
    return false;
}

/// Whether it says nothing that its kind does not have.
bool fits(series const& s)
{
    if (s.kind.empty()) return !s.delays.empty() && !s.factor && !s.step && !s.cap;
    if (s.delays.size() > 1) return false;
    return (!s.factor || s.kind == "exponential") && (!s.step || s.kind == "linear");
}

policy::backoff made_of(series const& s)
{
    using policy::backoff;
    auto const base = s.delays.empty() ? milliseconds(1'000) : s.delays.front();
    auto const cap = s.cap.value_or(backoff::usual_cap);
    if (s.kind == "exponential") return backoff::exponential(base, s.factor.value_or(2.0), cap);
    if (s.kind == "linear") return backoff::linear(base, s.step.value_or(base), cap);
    if (s.kind == "fibonacci") return backoff::fibonacci(base, cap);
    return backoff::fixed(s.delays);
}

} // namespace

result<policy::backoff> backoff_from(std::string_view text)
{
    series said;
    for (auto rest = text; !rest.empty();)
        if (!take(said, text::trimmed(text::take_piece(rest, ','))))
            return failure(errc::invalid_option, backoff_forms);
    if (!fits(said)) return failure(errc::invalid_option, backoff_forms);
    auto out = made_of(said);
    if (said.jitter) out = out.with(*said.jitter);
    if (auto const wrong = out.validate("it"))
        return failure(
            errc::invalid_option, "cannot be used: " + wrong->message.substr(std::string_view("it.").size()));
    return out;
}

} // namespace quern::app
