#pragma once

#include <quern/sqs/limits.hpp>
#include <quern/sqs/message.hpp>

#include <cstddef>
#include <optional>

namespace quern::detail {

/// Size of a received message in memory: everything in it that is a view into its answer.
std::size_t bytes_of(sqs::message const&);

/// The rule of the byte limit: how many more messages fit, when nobody knows how large the next will be.
///
/// Each is taken to be as large as the largest of late; before the first, as large as SQS allows.
class byte_limit {
public:
    /// Absent: no limit.
    explicit byte_limit(std::optional<std::size_t> most) : most_(most) {}

    void set(std::optional<std::size_t> most) { most_ = most; }

    /// How many messages may be asked for besides those that are `coming`, with so many bytes held. Never none when
    /// there are neither: one message may be larger than the limit, and has to be handled all the same.
    std::size_t room(std::size_t held_bytes, std::size_t coming) const;

    /// The largest message of an answer. What was larger before is forgotten slowly, an eighth of the difference with
    /// each answer: large and small ones come in turn.
    void seen(std::size_t largest);

private:
    std::optional<std::size_t> most_;
    std::size_t expected_ = sqs::max_message_bytes; // of a message
    bool seen_any_ = false;
};

} // namespace quern::detail
