// libFuzzer's entry. QUERN_FUZZ names the target: one program for all of them, linked once.

#include "target.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

quern::fuzz::target const* chosen = nullptr;

} // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***)
{
    auto const* name = std::getenv("QUERN_FUZZ");
    chosen = name ? quern::fuzz::find(name) : nullptr;
    if (chosen) return 0;
    std::fputs("set QUERN_FUZZ to one of:\n", stderr);
    for (auto const& each : quern::fuzz::targets())
        std::fprintf(stderr, "  %.*s\n", static_cast<int>(each.name.size()), each.name.data());
    std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size)
{
    chosen->run({reinterpret_cast<char const*>(data), size});
    return 0;
}
