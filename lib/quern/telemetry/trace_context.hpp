#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quern::telemetry {

using trace_id = std::array<std::uint8_t, 16>; ///< all zero: none
using span_id = std::array<std::uint8_t, 8>;   ///< all zero: none

/// Place of a span among all others, as it travels from one program to the next.
struct trace_context {
    trace_id trace{};
    span_id span{};
    bool sampled = false;
    bool undecided = false; ///< X-Ray: whoever sent it leaves it to the next one; never so where `sampled`
    std::string state;      ///< tracestate, in the form that read_tracestate() gives; empty: none

    bool operator==(trace_context const&) const = default;
};

/// Reads the W3C header traceparent (Trace Context, 3.2), of a version not known yet as that demands. Spaces and tabs
/// around it do not count. Nothing when it is none: capitals, zeros, another length.
std::optional<trace_context> read_traceparent(std::string_view);

/// "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
std::string traceparent(trace_context const&);

/// Reads a tracestate (Trace Context, 3.3): its members, without spaces and empty ones. Empty when one of them cannot
/// be read, a key comes twice, or there are more than 32. Longer than 512 bytes, it gives up members of more than 128
/// first, and then the last ones.
std::string read_tracestate(std::string_view);

/// Both together: what a message or a request says. A tracestate without a traceparent counts for nothing.
std::optional<trace_context> read_w3c(std::string_view traceparent, std::string_view tracestate);

/// Reads X-Ray's header, the system attribute AWSTraceHeader of a message:
/// "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1". Its parts come in any order, others
/// are passed over. Nothing without a Root and a Parent. Without a Sampled of 0 or 1 it is undecided.
std::optional<trace_context> read_xray(std::string_view);

/// The same as X-Ray writes it. There is no place for a state.
std::string xray_header(trace_context const&);

/// Lower-case hexadecimal, as logs and exports have it.
std::string text_of(trace_id const&);
std::string text_of(span_id const&);

} // namespace quern::telemetry
