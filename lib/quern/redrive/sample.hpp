#pragma once

#include <quern/core/clock.hpp>
#include <quern/redrive/filter.hpp>
#include <quern/sqs/message.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::redrive {

/// A dead message as somebody looks at it. Text of strangers is printable, and its body is cut.
struct sampled {
    std::string id;
    std::optional<wall_time> sent_at;
    std::string first_received; ///< as its attribute or the service tells; empty: neither does
    std::string source;         ///< the queue that it came from, by name; empty: nobody knows
    std::string reason;         ///< why it was rejected or isolated; empty: SQS moved it, and knows no reason
    std::string group;
    std::string body;
    part::value in_common; ///< by which it is grouped
    int receives = 0;      ///< over all queues, this look included
    int attempts = 0;      ///< redrives before
    std::size_t size = 0;  ///< of the whole body, in bytes
};

/// Messages of a sample that have something in common.
struct sample_group {
    std::string value;       ///< what they have in common; empty: they lack it
    bool unreadable = false; ///< their bodies are no JSON, so nobody knows
    std::size_t count = 0;
    std::optional<wall_time> oldest, newest; ///< of their sendings
    std::string example;                     ///< id of the first one
};

/// Messages of a queue that were seen. Pure: whoever receives adds.
///
/// Threads  one strand.
class sample {
public:
    /// Bodies are cut to so many bytes, at a character's end. `by`: a third way to group them.
    explicit sample(std::size_t body_bytes, std::optional<part> by = {});

    /// Returns whether the message was not seen before. One that was has cost another receive.
    bool add(sqs::message const&);

    std::vector<sampled> const& messages() const { return seen_; }
    std::size_t receives() const { return receives_; } ///< that it cost

    /// Groups, the largest first.
    std::vector<sample_group> by_source() const;
    std::vector<sample_group> by_reason() const;
    std::vector<sample_group> by_part() const; ///< none without `by`

    /// The messages that the next receive moves on, where their queue has a redrive policy of its own.
    std::size_t at_their_last(int max_receive_count) const;

private:
    std::size_t const body_bytes_;
    std::optional<part> const by_;
    std::vector<sampled> seen_;
    std::map<std::string, std::size_t, std::less<>> place_of_; // by id
    std::size_t receives_ = 0;
};

/// The beginning of a text, of so many bytes at most, with "…" behind it when something is left out.
std::string cut(std::string_view text, std::size_t bytes);

} // namespace quern::redrive
