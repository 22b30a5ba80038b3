#pragma once

#include <quern/core/clock.hpp>
#include <quern/telemetry/trace_context.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace quern::telemetry {

struct span_attribute {
    std::string name;
    std::variant<std::string, std::int64_t, bool> value;

    bool operator==(span_attribute const&) const = default;
};
using span_attributes = std::vector<span_attribute>;

struct span_link {
    trace_context to;
    span_attributes attributes{};
};

/// By its number in OTLP.
enum class span_kind { internal = 1, server, client, producer, consumer };

/// Something that took its time, in one program.
struct span {
    std::string name;
    span_kind kind = span_kind::internal;
    trace_context self;
    span_id parent{}; ///< zero: none, it begins its trace
    wall_time began{}, ended{};
    span_attributes attributes;
    std::vector<span_link> links;
    bool failed = false;
    std::string why; ///< of one that failed, for people

    /// Adds an attribute. (A list in braces would copy each text once more.)
    void add(std::string attribute, std::variant<std::string, std::int64_t, bool> value)
    {
        attributes.push_back({std::move(attribute), std::move(value)});
    }
};

/// Spans that wait for their export, as many as there is room for: what comes when there is none is dropped, since
/// those that wait are as good.
class span_buffer {
public:
    explicit span_buffer(std::size_t room) : room_(room) {}

    /// False when it was dropped.
    bool add(span);

    /// The oldest ones.
    std::vector<span> take(std::size_t most);

    std::size_t size() const { return spans_.size(); }

    /// How many were dropped since the last call.
    std::size_t take_dropped() { return std::exchange(dropped_, 0); }

private:
    std::size_t room_;
    std::deque<span> spans_;
    std::size_t dropped_ = 0;
};

} // namespace quern::telemetry
