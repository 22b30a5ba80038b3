#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>
#include <quern/policy/flag.hpp>

#include <chrono>
#include <optional>
#include <random>
#include <string>

namespace quern::policy::detail {

/// The rule of a flag: when it is read next, and what its last readings mean now.
///
///     no word read yet        halts, for `interval`, at most 10 s, from the first reading on; then unknown
///     last word read: halt    halts, however long ago: who cannot be asked has not taken it back
///     last word read: run     runs for max_age, and to the next reading at least; then unknown
///     unknown                 halts or not, as halt_when_unknown says
///
/// A reading that fails, or holds no word, leaves the last word as it is.
class flag_rule {
public:
    /// Without a source it is never due and never halts. Requires  options.validate() found nothing.
    flag_rule(flag_options const&, tick now);

    /// True when it is time to read it; the caller does, and tells what came of it.
    bool due(tick now);

    /// Tells what came of a reading. True when it is the first in a row that tells nothing, for the log.
    bool read(result<flag_reading> const&, tick now, std::mt19937_64&);

    enum class state { none, unread, run, halt, unknown };
    state at(tick now) const;
    bool halts(tick now) const;

    /// The next reading, or the moment at which the word run becomes too old.
    std::optional<tick> wake_at(tick now) const;

    /// "flag ssm:/orders/halt says halt, read 3 s ago", "flag … cannot be read: throttled; …"; empty without a
    /// source.
    std::string explain(tick now) const;

    /// Time since the last word was read; absent as long as none was.
    std::optional<std::chrono::seconds> age(tick now) const;

private:
    bool is_known(tick now) const;

    flag_options const options_;
    std::optional<tick> due_at_;   // absent: under way, or no source
    std::optional<tick> known_by_; // absent: not even asked for
    flag_word word_ = flag_word::unknown;
    tick known_at_{};
    std::chrono::milliseconds keeps_for_{};    // max_age, or more where the service wants to be asked less often
    flag_word last_said_ = flag_word::unknown; // by the last text, if it was a word or not
    std::string why_;                          // the last reading told nothing
};

} // namespace quern::policy::detail
