#include <quern/broker/detail/receipt.hpp>

#include <quern/broker/detail/ids.hpp>

#include <array>
#include <string_view>

namespace quern::broker {
namespace {

constexpr std::string_view prefix = "AQEB";
constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::size_t word_size = 11; // characters of 6 bits for a word of 64
constexpr std::size_t words = (receipt_codec::size - prefix.size()) / word_size;
static_assert(prefix.size() + words * word_size == receipt_codec::size);

constexpr auto values = [] {
    std::array<std::int8_t, 256> out{};
    out.fill(-1);
    for (std::size_t i = 0; i != letters.size(); ++i) {
        out[static_cast<unsigned char>(letters[i])] = static_cast<std::int8_t>(i);
    }
    return out;
}();

char* write_word(std::uint64_t word, char* out)
{
    for (std::size_t i = 0; i != word_size; ++i, word >>= 6)
        *out++ = letters[word & 63];
    return out;
}

std::optional<std::uint64_t> read_word(std::string_view text)
{
    std::uint64_t word = 0;
    for (std::size_t i = word_size; i-- != 0;) {
        auto const value = values[static_cast<unsigned char>(text[i])];
        if (value < 0) return {};
        word = word << 6 | static_cast<std::uint64_t>(value);
    }
    return word;
}

} // namespace

// The first word is a salt that hides the next three, which carry the receipt; the rest depends on all of them.

void receipt_codec::write(receipt const& r, char* out) const
{
    auto const salt = mixed(key_ ^ mixed(r.receive));
    out = prefix.copy(out, prefix.size()) + out;
    out = write_word(salt, out);
    out = write_word(r.receive ^ mixed(salt ^ key_), out);
    out = write_word(r.message ^ mixed(salt + 1 + key_), out);
    out = write_word(r.queue ^ mixed(salt + 2 + key_), out);
    auto const sum = mixed(mixed(mixed(salt ^ r.message) ^ r.queue) ^ key_);
    for (std::size_t i = 4; i != words; ++i)
        out = write_word(mixed(sum + i), out);
}

std::optional<receipt> receipt_codec::read(std::string_view handle) const
{
    if (handle.size() != size || !handle.starts_with(prefix)) return {};
    auto const word = [&](std::size_t i) {
        return read_word(handle.substr(prefix.size() + i * word_size, word_size));
    };
    auto const salt = word(0);
    auto const receive = word(1);
    auto const message = word(2);
    auto const queue = word(3);
    if (!salt || !receive || !message || !queue) return {};

    receipt const out{.queue = *queue ^ mixed(*salt + 2 + key_),
        .message = *message ^ mixed(*salt + 1 + key_),
        .receive = *receive ^ mixed(*salt ^ key_)};
    std::array<char, size> again;
    write(out, again.data());
    if (handle != std::string_view(again.data(), again.size())) return {};
    return out;
}

} // namespace quern::broker
