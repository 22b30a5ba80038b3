#pragma once

#include <quern/core/error.hpp>
#include <quern/telemetry/otlp.hpp>
#include <quern/telemetry/trace_context.hpp>

namespace quern::telemetry {

/// Decides which traces are recorded. All are, and those that others began are as these have decided, unless told
/// otherwise.
struct sampler {
    /// Part of the traces, of those begun here or of all; from 0 to 1. A trace's id says whether it is in it, so that
    /// programs with the same ratio record the same ones.
    double ratio = 1;

    bool follows_parent = true; ///< what has a parent is recorded when that is

    /// `parent`: null where there is none.
    bool takes(trace_id const&, trace_context const* parent) const;

    bool operator==(sampler const&) const = default;
};

/// Reads OTEL_TRACES_SAMPLER (always_on, always_off, traceidratio, and these behind parentbased_) and
/// OTEL_TRACES_SAMPLER_ARG. An empty variable counts as none.
///
/// Fails with  errc::invalid_option  it is another, or the ratio is none; names the variable
[[nodiscard]] result<sampler> sampler_from(environment const&);

} // namespace quern::telemetry
