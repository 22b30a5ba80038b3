#pragma once

#include <quern/core/error.hpp>

#include <bitset>
#include <optional>
#include <string_view>

namespace quern::app {

/// Exit statuses of commands, read from "65,70-75".
class exit_statuses {
public:
    /// Fails with  errc::invalid_option  the end of a sentence that the option's name begins
    static result<exit_statuses> parse(std::string_view);

    bool contains(int status) const
    {
        return status > 0 && status < 256 && holds_.test(static_cast<std::size_t>(status));
    }
    bool is_empty() const { return holds_.none(); }

private:
    std::bitset<256> holds_;
};

/// Fate of a message whose command ended with another status than 0.
enum class exit_meaning {
    retry,
    reject,      ///< trying again cannot help
    malformed,   ///< the message cannot be understood
    unavailable, ///< what the command needs is down: no fault of the message
};

/// Meaning of exit statuses. The lists come first, then sysexits; what is in none of them is retried.
struct exit_rule {
    exit_statuses retry, reject, malformed, unavailable;

    /// As sysexits.h has them: 65 (EX_DATAERR) is malformed, 67 (EX_NOUSER) and 77 (EX_NOPERM) reject, 69
    /// (EX_UNAVAILABLE) and 71 (EX_OSERR) are unavailable. Off by default: other programs, curl for one, mean
    /// something else by these numbers.
    bool sysexits = false;

    exit_meaning of(int status) const;

    /// Some status rejects a message.
    bool may_reject() const { return sysexits || !reject.is_empty() || !malformed.is_empty(); }
};

} // namespace quern::app
