#include <quern/telemetry/sampler.hpp>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace quern::telemetry {
namespace {

/// From 0 to 1; negative when it is no such number.
double ratio_from(std::string const& text)
{
    if (text.empty() || text.find_first_not_of("0123456789.eE-+") != text.npos) return -1;
    char* end = nullptr;
    auto const value = std::strtod(text.c_str(), &end);
    return *end == '\0' && value >= 0 && value <= 1 ? value : -1;
}

} // namespace

bool sampler::takes(trace_id const& id, trace_context const* parent) const
{
    if (follows_parent && parent && !parent->undecided) return parent->sampled;
    if (ratio >= 1) return true;
    // The lower half of the id, as OpenTelemetry's SDKs for Go and Java have it: a time may stand in the upper one.
    std::uint64_t low = 0;
    for (std::size_t i = 8; i < id.size(); ++i)
        low = low << 8 | id[i];
    constexpr double all = 9'223'372'036'854'775'808.0; // 2^63
    return low >> 1 < static_cast<std::uint64_t>(ratio * all);
}

result<sampler> sampler_from(environment const& variable)
{
    sampler out;
    auto const name = variable("OTEL_TRACES_SAMPLER");
    std::string_view kind(name);
    if (!kind.empty()) {
        constexpr std::string_view prefix = "parentbased_";
        out.follows_parent = kind.starts_with(prefix);
        if (out.follows_parent) kind.remove_prefix(prefix.size());
        if (kind == "always_off") out.ratio = 0;
        if (kind != "always_on" && kind != "always_off" && kind != "traceidratio")
            return failure(errc::invalid_option,
                "OTEL_TRACES_SAMPLER: there are always_on, always_off and traceidratio, and parentbased_ of each");
    }
    auto const ratio = variable("OTEL_TRACES_SAMPLER_ARG");
    if (kind != "traceidratio" || ratio.empty()) return out;
    out.ratio = ratio_from(ratio);
    if (out.ratio < 0) return failure(errc::invalid_option, "OTEL_TRACES_SAMPLER_ARG: is no number from 0 to 1");
    return out;
}

} // namespace quern::telemetry
