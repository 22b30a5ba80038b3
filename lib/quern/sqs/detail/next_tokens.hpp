#pragma once

#include <quern/core/error.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>

namespace quern::sqs::detail {

/// The NextTokens of a list that comes in pages. A server that gives one after the other for ever would otherwise
/// keep its reader for ever.
class next_tokens {
public:
    static constexpr std::size_t most_pages = 10'000; ///< an account has far fewer queues than such pages hold

    /// To be told the token of each page; empty: it was the last.
    ///
    /// Fails with  errc::bad_reply  the list has no end
    [[nodiscard]] result<void> follow(std::string_view token)
    {
        if (token.empty()) return {};
        // Hashes, since tokens may be long. That two are equal by chance does not happen.
        if (!seen_.insert(std::hash<std::string_view>()(token)).second)
            return failure(errc::bad_reply, "the list has no end: the service gave the same NextToken twice");
        if (seen_.size() >= most_pages) {
            return failure(errc::bad_reply,
                "the list has no end: after " + std::to_string(most_pages) + " pages another one follows");
        }
        return {};
    }

private:
    std::unordered_set<std::size_t> seen_;
};

} // namespace quern::sqs::detail
