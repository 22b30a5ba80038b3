#pragma once

#include <quern/core/alarm.hpp>
#include <quern/core/error.hpp>
#include <quern/metrics/collection.hpp>
#include <quern/telemetry/log.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>

namespace quern::metrics {

/// Where exports go. Implementations keep what they need between two of them, the last snapshot say.
class destination {
public:
    virtual ~destination() = default;

    /// Completes when they are there.
    ///
    /// Cancellation  terminal.
    virtual boost::asio::awaitable<result<void>> send(telemetry::snapshot) = 0;
};

/// Decides when the next export begins, and how many were left out because one took too long.
class export_rule {
public:
    export_rule(std::chrono::milliseconds every, tick now) : every_(every), next_(now + every) {}

    tick next() const { return next_; }

    /// An export has ended; returns how many should have begun meanwhile.
    std::size_t ended(tick now);

private:
    std::chrono::milliseconds every_;
    tick next_;
};

struct exporter_options {
    std::chrono::milliseconds every{60'000}; ///< CloudWatch keeps a value a minute
    log_sink log = to_standard_error();
    clock* time = nullptr; ///< the real one when null
};

/// Exports a collection again and again. It is never waited for: what takes too long is left out, what fails is
/// counted (as quern_telemetry_dropped_total) and told in the log.
///
/// Threads  one strand: the executor given.
class exporter {
public:
    /// Both outlive run().
    exporter(boost::asio::any_io_executor, collection&, destination&, exporter_options = exporter_options());

    /// Exports until end(), and then once more.
    boost::asio::awaitable<void> run();

    /// Has run() end, after an export that is under way and the last one: within the time that the destination takes.
    void end();

private:
    boost::asio::awaitable<void> one();

    collection& all_;
    destination& to_;
    exporter_options options_;
    clock& time_;
    log_throttle log_;
    alarm ended_;
    bool over_ = false;
};

} // namespace quern::metrics
