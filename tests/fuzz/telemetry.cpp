#include "target.hpp"

#include <quern/telemetry/trace_context.hpp>

namespace quern::fuzz {

void trace_context(std::string_view bytes)
{
    auto const half = bytes.find('\n'); // what stands behind it is a tracestate
    auto const state = half == bytes.npos ? std::string_view() : bytes.substr(half + 1);
    auto const tidy = telemetry::read_tracestate(state);
    must(tidy.size() <= 512, "a state fits into what everybody passes on");
    must(telemetry::read_tracestate(tidy) == tidy, "a state that was tidied is tidy");
    if (auto const got = telemetry::read_w3c(bytes.substr(0, half), state)) {
        auto const again = telemetry::read_w3c(telemetry::traceparent(*got), got->state);
        must(again == got, "a context that is passed on is the same");
    }
    if (auto const got = telemetry::read_xray(bytes)) {
        must(telemetry::read_xray(telemetry::xray_header(*got)) == got, "a header that is passed on is the same");
        must(!(got->sampled && got->undecided), "a decision is one");
    }
}

} // namespace quern::fuzz
