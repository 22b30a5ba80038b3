#include <quern/telemetry/sampler.hpp>

#include <boost/test/unit_test.hpp>

#include <map>
#include <optional>
#include <random>
#include <string>

using namespace quern::telemetry;

namespace {

using variables = std::map<std::string, std::string>;

quern::result<sampler> read(variables const& all)
{
    return sampler_from([&](char const* name) {
        auto const at = all.find(name);
        return at == all.end() ? std::string() : at->second;
    });
}

trace_id with_low_half(std::uint64_t low)
{
    trace_id out{};
    out[0] = 1;
    for (std::size_t i = 16; i-- > 8; low >>= 8)
        out[i] = static_cast<std::uint8_t>(low);
    return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_parent_decides_and_an_undecided_one_leaves_it_to_the_ratio)
{
    trace_context taken, left, undecided;
    taken.sampled = undecided.undecided = true;
    struct {
        sampler of;
        trace_context const* parent;
        bool takes;
    } const table[] = {
        {{1, true}, nullptr, true},
        {{0, true}, nullptr, false},
        {{0, true}, &taken, true},
        {{1, true}, &left, false},
        {{1, true}, &undecided, true},
        {{0, true}, &undecided, false},
        {{0, false}, &taken, false},
        {{1, false}, &left, true},
        {{1, false}, &undecided, true},
        {{0.5, true}, nullptr, true},
        {{0.5, false}, &left, true},
        {{0.5, true}, &left, false},
    };
    for (auto const& row : table)
        BOOST_TEST(row.of.takes(with_low_half(0), row.parent) == row.takes);
}

BOOST_AUTO_TEST_CASE(the_lower_half_of_the_id_decides_as_in_the_sdks)
{
    // Go's TraceIDRatioBased: the upper 63 bits of the lower half, below the ratio of 2^63.
    struct {
        double ratio;
        std::uint64_t low;
        bool takes;
    } const table[] = {
        {0.5, 0x7fff'ffff'ffff'ffff, true},
        {0.5, 0x8000'0000'0000'0000, false},
        {0.25, 0x3fff'ffff'ffff'ffff, true},
        {0.25, 0x4000'0000'0000'0000, false},
        {1, 0xffff'ffff'ffff'ffff, true},
        {0, 0, false},
    };
    for (auto const& row : table)
        BOOST_TEST((sampler{row.ratio, true}.takes(with_low_half(row.low), nullptr)) == row.takes);
}

BOOST_AUTO_TEST_CASE(a_tenth_is_a_tenth)
{
    std::mt19937_64 random(7);
    int taken = 0;
    for (int i = 0; i < 10'000; ++i)
        taken += sampler{0.1, true}.takes(with_low_half(random()), nullptr);
    BOOST_TEST(taken > 900);
    BOOST_TEST(taken < 1'100);
}

BOOST_AUTO_TEST_CASE(variables_say_which)
{
    struct {
        char const *kind, *argument;
        std::optional<sampler> is;
    } const table[] = {
        {"", "", sampler{1, true}},
        {"", "0.1", sampler{1, true}},
        {"always_on", "", sampler{1, false}},
        {"always_off", "0.5", sampler{0, false}},
        {"traceidratio", "0.25", sampler{0.25, false}},
        {"traceidratio", "", sampler{1, false}},
        {"parentbased_always_on", "", sampler{1, true}},
        {"parentbased_always_off", "", sampler{0, true}},
        {"parentbased_traceidratio", "1e-3", sampler{0.001, true}},
        {"parentbased_traceidratio", "0", sampler{0, true}},
        {"traceidratio", "1.5", {}},
        {"traceidratio", "-0.1", {}},
        {"traceidratio", "nan", {}},
        {"traceidratio", "0x1", {}},
        {"traceidratio", "half", {}},
        {"traceidratio", "0.5 ", {}},
        {"ALWAYS_ON", "", {}},
        {"jaeger_remote", "", {}},
        {"parentbased_", "", {}},
        {"xray", "", {}},
    };
    for (auto const& row : table) {
        auto const got = read({{"OTEL_TRACES_SAMPLER", row.kind}, {"OTEL_TRACES_SAMPLER_ARG", row.argument}});
        BOOST_TEST_CONTEXT(row.kind << ' ' << row.argument)
        {
            BOOST_TEST(got.has_value() == row.is.has_value());
            if (got && row.is) BOOST_TEST(*got == *row.is);
            if (!got) BOOST_TEST(describe(got.error()).find("OTEL_TRACES_SAMPLER") != std::string::npos);
        }
    }
}
