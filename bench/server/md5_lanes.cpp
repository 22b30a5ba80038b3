#include "md5_lanes.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <string>

namespace yardstick {

namespace {

static_assert(std::endian::native == std::endian::little, "words are read as they stand in memory");

using word = std::uint32_t;
typedef word lanes __attribute__((vector_size(md5_lanes * sizeof(word)))); // GCC's and clang's vectors
using state = std::array<lanes, 4>;

constexpr int shifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

std::array<word, 64> sines()
{
    std::array<word, 64> out;
    for (std::size_t i = 0; i < 64; ++i)
        out[i] = static_cast<word>(std::floor(std::ldexp(std::abs(std::sin(static_cast<double>(i + 1))), 32)));
    return out;
}

std::array<word, 64> const constants = sines();

// W is a word for each lane, or one for all.
template <class W>
[[gnu::always_inline]] inline void block(state& s, W const* words)
{
    auto [a, b, c, d] = s;
#pragma GCC unroll 64
    for (int i = 0; i < 64; ++i) {
        auto const round = i / 16;
        auto const f = round == 0 ? (b & c) | (~b & d)
            : round == 1          ? (d & b) | (~d & c)
            : round == 2          ? b ^ c ^ d
                                  : c ^ (b | ~d);
        auto const which = round == 0 ? i
            : round == 1              ? (5 * i + 1) % 16
            : round == 2              ? (3 * i + 5) % 16
                                      : (7 * i) % 16;
        auto const sum = a + f + constants[static_cast<std::size_t>(i)] + words[which];
        auto const shift = shifts[round][i % 4];
        a = d;
        d = c;
        c = b;
        b += (sum << shift) | (sum >> (32 - shift));
    }
    s = {s[0] + a, s[1] + b, s[2] + c, s[3] + d};
}

[[gnu::always_inline]] inline void digest(std::array<md5_lane, md5_lanes>& texts, std::string_view tail)
{
    state s = {lanes{} + 0x67452301u, lanes{} + 0xefcdab89u, lanes{} + 0x98badcfeu, lanes{} + 0x10325476u};

    std::array<lanes, 16> heads;
    for (std::size_t lane = 0; lane < md5_lanes; ++lane) {
        std::array<word, 16> words;
        std::memcpy(words.data(), texts[lane].head.data(), sizeof words);
        for (std::size_t i = 0; i < 16; ++i)
            heads[i][lane] = words[i];
    }
    block(s, heads.data());

    std::array<word, 16> words;
    auto const whole = tail.size() / 64 * 64;
    for (std::size_t at = 0; at < whole; at += 64) {
        std::memcpy(words.data(), tail.data() + at, 64);
        block(s, words.data());
    }
    char last[128] = {};
    auto const rest = tail.size() - whole;
    std::memcpy(last, tail.data() + whole, rest);
    last[rest] = '\x80';
    std::size_t const size = rest < 56 ? 64 : 128;
    std::uint64_t const bits = (64 + tail.size()) * 8;
    std::memcpy(last + size - 8, &bits, 8);
    for (std::size_t at = 0; at < size; at += 64) {
        std::memcpy(words.data(), last + at, 64);
        block(s, words.data());
    }

    for (std::size_t lane = 0; lane < md5_lanes; ++lane)
        for (std::size_t i = 0; i < 4; ++i) {
            word const out = s[i][lane];
            std::memcpy(texts[lane].digest.data() + 4 * i, &out, 4);
        }
}

using function = void (*)(std::array<md5_lane, md5_lanes>&, std::string_view);

void plain(std::array<md5_lane, md5_lanes>& texts, std::string_view tail)
{
    digest(texts, tail);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void wide(std::array<md5_lane, md5_lanes>& texts, std::string_view tail)
{
    digest(texts, tail);
}
[[gnu::target("avx512f,avx512vl")]] void wider(std::array<md5_lane, md5_lanes>& texts, std::string_view tail)
{
    digest(texts, tail);
}

function best()
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) return wider;
    return __builtin_cpu_supports("avx2") ? wide : plain;
}
#else
function best()
{
    return plain;
}
#endif

} // namespace

void md5(std::array<md5_lane, md5_lanes>& texts, std::string_view tail)
{
    static function const chosen = best();
    chosen(texts, tail);
}

} // namespace yardstick
