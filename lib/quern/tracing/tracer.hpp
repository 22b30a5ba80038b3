#pragma once

#include <quern/core/clock.hpp>
#include <quern/telemetry/otlp_traces.hpp>
#include <quern/telemetry/span.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <random>
#include <vector>

namespace quern::tracing {

/// Spans of one program: decides which are recorded, gives them ids, and keeps them until they are exported.
///
/// Threads  any.
class tracer {
public:
    /// `seed`: 0 takes one from the system. `time` outlives it.
    explicit tracer(
        telemetry::trace_options = telemetry::trace_options(), clock& time = real_clock(), std::uint64_t seed = 0);

    /// A span of its own below `parent`, or one that begins a trace where that is null; with the decision whether it
    /// is recorded. The first four bytes of a new trace's id are the time, as X-Ray wishes.
    telemetry::trace_context begin(telemetry::trace_context const* parent);

    /// Keeps a span for its export. One that is not sampled goes, and so does one that finds no room.
    void end(telemetry::span);

    std::vector<telemetry::span> take(std::size_t most);
    std::size_t size() const;
    std::size_t take_dropped();

    /// Calls this when there are spans enough for an export, on the thread that ends the last of them; null: nobody.
    void on_full(std::function<void()>);

    telemetry::trace_options const& options() const { return options_; }
    clock& time() const { return time_; }

private:
    template <class Id>
    void draw(Id&);

    telemetry::trace_options const options_;
    clock& time_;
    mutable std::mutex lock_; // for these
    std::mt19937_64 random_;
    telemetry::span_buffer spans_;
    std::function<void()> full_;
};

} // namespace quern::tracing
