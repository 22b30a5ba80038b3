#pragma once

#include <quern/core/alarm.hpp>
#include <quern/telemetry/log.hpp>
#include <quern/tracing/span_destination.hpp>
#include <quern/tracing/tracer.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace quern::tracing {

/// Decides when the next export of spans begins, and whether one that failed is tried again.
class span_export_rule {
public:
    span_export_rule(std::chrono::milliseconds every, tick now) : every_(every), next_(now + every) {}

    /// When to look whether there are spans.
    tick next() const { return next_; }

    /// Whether an export may begin: it is time, or there are spans enough for one and none has just failed.
    bool may_begin(tick now, bool is_full) const { return now >= next_ || (is_full && tries_ == 0); }

    /// It was taken, or there was nothing to send.
    void taken(tick now);

    /// It failed. `after`: the pause that the receiver asks for. True when the same spans are to be sent again, at
    /// next(): after a second, doubled each time, four times.
    bool failed(bool may_help, std::optional<std::chrono::milliseconds> after, tick now);

private:
    std::chrono::milliseconds every_;
    tick next_;
    int tries_ = 0; ///< of these spans, that failed
};

struct span_exporter_options {
    /// Told how many spans were dropped: there was no room for them, or nobody took them. Null: nobody.
    std::function<void(std::size_t)> dropped{};
    log_sink log = to_standard_error();
};

/// Exports the spans of a tracer again and again, and as soon as there are enough for one export. Nobody waits for
/// it: while a receiver is away spans wait in their buffer, and what finds no room there is dropped, counted and told
/// in the log.
///
/// Threads  one strand: the executor given. Spans may end on any thread.
class span_exporter {
public:
    /// All outlive run(), and the executor outlives them.
    span_exporter(
        boost::asio::any_io_executor, tracer&, span_destination&, span_exporter_options = span_exporter_options());
    ~span_exporter();

    /// Exports until end(), and then what there is.
    boost::asio::awaitable<void> run();

    /// Has run() end, after an export that is under way and the last ones, each tried once.
    void end();

private:
    boost::asio::awaitable<void> turn();
    boost::asio::awaitable<bool> one(bool is_last);
    void drop(std::size_t count, std::string const& why);

    tracer& from_;
    span_destination& to_;
    span_exporter_options options_;
    clock& time_;
    log_throttle log_;
    std::shared_ptr<alarm> woken_;
    span_export_rule rule_;
    std::vector<telemetry::span> batch_; ///< under way, or to be tried again
    bool over_ = false;
};

} // namespace quern::tracing
