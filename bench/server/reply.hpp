#pragma once

#include "md5_lanes.hpp"
#include "queue.hpp"

#include <span>
#include <string>
#include <string_view>

namespace yardstick {

/// The text of a receipt handle: as long as those of SQS, and not to be guessed.
class receipt_handles {
public:
    static constexpr std::size_t size = 412;

    receipt_handles();
    std::string_view write(ticket const& what);
    std::optional<ticket> read(std::string_view handle) const;

private:
    std::string text_; // what is always the same, with the last ticket in its place
};

/// Which system attributes of messages are wanted.
struct wanted {
    bool count = false, first = false, sent = false, group = false, sequence = false;
    static wanted of(std::vector<std::string_view> const& names);
};

/// Renders bodies of answers. Everything that does not differ from message to message is rendered once.
class renderer {
public:
    explicit renderer(options const& what);

    void messages(std::span<handed const> what, wanted const& which, std::string& out);

    receipt_handles handles;

private:
    void digest(std::span<handed const> what);
    void attributes(handed const& one, wanted const& which, std::string& out);

    std::string padding_; // of a body, behind the 64 bytes that differ
    std::string written_; // the same in an answer
    std::array<md5_lane, md5_lanes> lanes_;
};

/// A whole answer: reserve(), append the body, seal().
///
/// The head has the length of the body in it, and stands in front of it: so room is left, and the head is put where
/// it ends.
class reply {
public:
    std::string& reserve();
    /// The bytes to send.
    std::string_view seal(int status, micros now);

private:
    static constexpr std::size_t room = 256;

    std::string const& date(micros now);

    std::string bytes_;
    std::string date_;
    micros dated_ = -1;
    std::uint64_t count_ = 0;
};

} // namespace yardstick
