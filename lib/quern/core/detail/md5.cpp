#include <quern/core/detail/md5.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

namespace quern::detail {

namespace {

static_assert(std::endian::native == std::endian::little, "words are read as they stand in memory");

using word = std::uint32_t;
constexpr std::size_t block_size = 64;

/// A vector of GCC and clang: a word of each lane, side by side.
template <std::size_t Lanes>
struct vector {
    typedef word type __attribute__((vector_size(Lanes * sizeof(word))));
};

/// A text in blocks, with what MD5 appends.
class blocks {
public:
    blocks() = default;
    explicit blocks(std::string_view text) : text_(text.data()), whole_(text.size() / block_size)
    {
        auto const rest = text.size() % block_size;
        auto const padded = rest < block_size - 8 ? block_size : 2 * block_size;
        if (rest != 0) std::memcpy(last_, text_ + whole_ * block_size, rest);
        last_[rest] = '\x80';
        auto const bits = std::uint64_t(text.size()) * 8;
        std::memcpy(last_ + padded - sizeof bits, &bits, sizeof bits);
        count_ = whole_ + padded / block_size;
    }

    std::size_t count() const { return count_; }
    char const* at(std::size_t i) const
    {
        return i < whole_ ? text_ + i * block_size : last_ + (i - whole_) * block_size;
    }

private:
    char const* text_ = nullptr;
    std::size_t whole_ = 0, count_ = 0;
    char last_[2 * block_size] = {};
};

// RFC 1321, 3.4: the whole part of 4294967296 times abs(sin(i + 1)), and the rotations.
constexpr word sines[64] = {
    0xd76aa478,
    0xe8c7b756,
    0x242070db,
    0xc1bdceee,
    0xf57c0faf,
    0x4787c62a,
    0xa8304613,
    0xfd469501,
    0x698098d8,
    0x8b44f7af,
    0xffff5bb1,
    0x895cd7be,
    0x6b901122,
    0xfd987193,
    0xa679438e,
    0x49b40821,
    0xf61e2562,
    0xc040b340,
    0x265e5a51,
    0xe9b6c7aa,
    0xd62f105d,
    0x02441453,
    0xd8a1e681,
    0xe7d3fbc8,
    0x21e1cde6,
    0xc33707d6,
    0xf4d50d87,
    0x455a14ed,
    0xa9e3e905,
    0xfcefa3f8,
    0x676f02d9,
    0x8d2a4c8a,
    0xfffa3942,
    0x8771f681,
    0x6d9d6122,
    0xfde5380c,
    0xa4beea44,
    0x4bdecfa9,
    0xf6bb4b60,
    0xbebfbc70,
    0x289b7ec6,
    0xeaa127fa,
    0xd4ef3085,
    0x04881d05,
    0xd9d4d039,
    0xe6db99e5,
    0x1fa27cf8,
    0xc4ac5665,
    0xf4292244,
    0x432aff97,
    0xab9423a7,
    0xfc93a039,
    0x655b59c3,
    0x8f0ccc92,
    0xffeff47d,
    0x85845dd1,
    0x6fa87e4f,
    0xfe2ce6e0,
    0xa3014314,
    0x4e0811a1,
    0xf7537e82,
    0xbd3af235,
    0x2ad7d2bb,
    0xeb86d391,
};
constexpr int rotations[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

template <int I, class Vector, std::size_t Lanes>
[[gnu::always_inline]] inline void step(Vector& a, Vector& b, Vector& c, Vector& d, word const (&words)[16][Lanes])
{
    constexpr auto round = I / 16;
    constexpr auto which = (round == 0 ? I : round == 1 ? 5 * I + 1 : round == 2 ? 3 * I + 5 : 7 * I) % 16;
    constexpr auto by = rotations[round][I % 4];
    Vector f, w;
    std::memcpy(&w, words[which], sizeof w);
    if constexpr (round == 0) f = d ^ (b & (c ^ d));
    if constexpr (round == 1) f = c ^ (d & (b ^ c));
    if constexpr (round == 2) f = b ^ c ^ d;
    if constexpr (round == 3) f = c ^ (b | ~d);
    auto const sum = a + f + sines[I] + w;
    a = d;
    d = c;
    c = b;
    b += (sum << by) | (sum >> (32 - by));
}

template <class Vector, std::size_t Lanes, int... I>
[[gnu::always_inline]] inline void mix(
    Vector (&state)[4], word const (&words)[16][Lanes], std::integer_sequence<int, I...>)
{
    auto a = state[0], b = state[1], c = state[2], d = state[3];
    (step<I>(a, b, c, d, words), ...);
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

/// Digests at most so many texts. A lane whose text is over goes on with anything; its digest has been taken.
template <std::size_t Lanes>
[[gnu::always_inline]] inline void digest(std::span<std::string_view const> texts, std::span<md5_digest> to)
{
    using lanes = typename vector<Lanes>::type;
    blocks in[Lanes];
    std::size_t most = 0;
    for (std::size_t lane = 0; lane < texts.size(); ++lane) {
        in[lane] = blocks(texts[lane]);
        most = std::max(most, in[lane].count());
    }
    lanes state[4] = {lanes{} + 0x67452301u, lanes{} + 0xefcdab89u, lanes{} + 0x98badcfeu, lanes{} + 0x10325476u};
    alignas(lanes) word words[16][Lanes] = {};
    for (std::size_t i = 0; i < most; ++i) {
        for (std::size_t lane = 0; lane < texts.size(); ++lane) {
            if (i >= in[lane].count()) continue;
            word block[16];
            std::memcpy(block, in[lane].at(i), sizeof block);
            for (std::size_t w = 0; w < 16; ++w)
                words[w][lane] = block[w];
        }
        mix(state, words, std::make_integer_sequence<int, 64>());
        for (std::size_t lane = 0; lane < texts.size(); ++lane) {
            if (i + 1 != in[lane].count()) continue;
            word const out[4] = {state[0][lane], state[1][lane], state[2][lane], state[3][lane]};
            std::memcpy(to[lane].data(), out, sizeof out);
        }
    }
}

using function = void (*)(std::span<std::string_view const>, std::span<md5_digest>);

void one(std::span<std::string_view const> texts, std::span<md5_digest> to)
{
    digest<1>(texts, to);
}
void four(std::span<std::string_view const> texts, std::span<md5_digest> to)
{
    digest<4>(texts, to);
}
void sixteen(std::span<std::string_view const> texts, std::span<md5_digest> to)
{
    digest<16>(texts, to);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void sixteen_wide(std::span<std::string_view const> texts, std::span<md5_digest> to)
{
    digest<16>(texts, to);
}
[[gnu::target("avx512f")]] void sixteen_in_one(std::span<std::string_view const> texts, std::span<md5_digest> to)
{
    digest<16>(texts, to);
}

function best_for_many()
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) return sixteen_in_one;
    return __builtin_cpu_supports("avx2") ? sixteen_wide : sixteen;
}
#else
function best_for_many()
{
    return sixteen;
}
#endif

} // namespace

void md5(std::span<std::string_view const> texts, std::span<md5_digest> to)
{
    static function const many = best_for_many();
    for (std::size_t at = 0; at < texts.size();) {
        auto const here = std::min<std::size_t>(texts.size() - at, 16);
        (here == 1 ? one : here <= 4 ? four : many)(texts.subspan(at, here), to.subspan(at, here));
        at += here;
    }
}

md5_digest md5(std::string_view text)
{
    md5_digest out;
    md5({&text, 1}, {&out, 1});
    return out;
}

} // namespace quern::detail
