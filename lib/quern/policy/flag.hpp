#pragma once

#include <quern/core/error.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace quern::policy {

/// Content of a flag, as it was read.
struct flag_reading {
    std::optional<std::string> text;    ///< absent: the same as last time
    std::chrono::seconds not_before{0}; ///< the service asks not to be asked again sooner; 0: whenever
};

/// Somewhere outside, a value that says whether to work: a parameter, a file, an item of a table.
///
/// Threads   read() is awaited on the consumer's strand, one at a time.
/// Lifetime  a share of it is kept until the drain has ended.
class flag_source {
public:
    virtual ~flag_source() = default;

    /// Name for people: "ssm:/orders/halt".
    virtual std::string name() const = 0;

    /// Reads it once. Has to end by itself, within half a minute or so: nothing else cancels it, and its context runs
    /// as long. A throw counts as a failure.
    virtual boost::asio::awaitable<result<flag_reading>> read() = 0;

    /// Writes the text there. Has to end by itself, as read().
    ///
    /// Fails with  errc::invalid_option  nothing can be written there, as is so unless a source says otherwise
    virtual boost::asio::awaitable<result<void>> write(std::string text);
};

/// Meaning of a flag's text.
enum class flag_word { run, halt, unknown };

/// Reads `open`, `halt`, `true`, `1` and `on` as halt, because the flag is that of a breaker; `closed`, `run`,
/// `false`, `0` and `off` as run; in any case, with blanks around. Of a JSON object the member `name` counts, where
/// one is given, else `open`, `isOpen` or `halted`: a bool, a number, one of the words, or an object with such a
/// member `enabled`, as feature flags have it. Anything else is unknown, two members that contradict each other as
/// well.
flag_word read_flag(std::string_view text, std::string_view name = {});

/// A flag, and how it is heeded. A halt stops receives like a pause of its own: what is here and has not begun goes
/// back, handlers finish. Until a word was read, for an interval at most, nothing is received.
struct flag_options {
    std::shared_ptr<flag_source> source{}; ///< null: no flag

    std::string name{}; ///< of the member, where the text is a JSON object; see read_flag()

    /// Time between two readings, give or take a fifth, so that processes started together spread. Ten seconds: 40
    /// readings a second are allowed of all parameters of an account together. 1 s to 1 h.
    std::chrono::milliseconds interval{10'000};

    /// For how long the word run counts while no other can be read; then the flag is unknown. At least `interval`, at
    /// most 24 h. The word halt counts until another is read.
    std::chrono::milliseconds max_age{300'000};

    /// Whether an unknown flag halts: one that was never read, or said run when it was read last, longer than max_age
    /// ago. False, because a flag that cannot be read would else halt what runs well; it is loud in the log in any
    /// case.
    bool halt_when_unknown = false;

    /// The first setting that cannot work, by name.
    [[nodiscard]] std::optional<failure> validate() const;
};

} // namespace quern::policy
