#include <quern/broker/detail/receipt.hpp>

#include <quern/broker/detail/ids.hpp>
#include <quern/core/detail/text/base64.hpp>

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string_view>

namespace quern::broker::detail {

using namespace quern::detail;

namespace {

constexpr std::string_view prefix = "AQEB";
constexpr std::size_t block_size = 16, parts = 3;
static_assert(prefix.size() + parts * block_size * 4 / 3 == receipt_codec::size);

using blocks = std::array<unsigned char, parts * block_size>;

struct free_context {
    void operator()(EVP_CIPHER_CTX* p) const { EVP_CIPHER_CTX_free(p); }
};

/// AES-128-CBC of whole blocks. No vector: no two receipts are the same, and one block is chained to the next all the
/// same.
class cipher {
public:
    cipher(receipt_key const& key, bool encrypts) : context_(EVP_CIPHER_CTX_new())
    {
        bool const good = context_ &&
            EVP_CipherInit_ex(
                context_.get(), EVP_aes_128_cbc(), nullptr, key.data(), no_vector.data(), encrypts ? 1 : 0) == 1 &&
            EVP_CIPHER_CTX_set_padding(context_.get(), 0) == 1;
        if (!good) throw std::runtime_error("OpenSSL has no AES-128-CBC");
    }

    blocks operator()(blocks const& in)
    {
        blocks out;
        int size = 0;
        bool const good = EVP_CipherInit_ex(context_.get(), nullptr, nullptr, nullptr, no_vector.data(), -1) == 1 &&
            EVP_CipherUpdate(context_.get(), out.data(), &size, in.data(), static_cast<int>(in.size())) == 1;
        if (!good || size != static_cast<int>(out.size())) throw std::runtime_error("OpenSSL's AES-128-CBC failed");
        return out;
    }

private:
    static constexpr std::array<unsigned char, block_size> no_vector{};
    std::unique_ptr<EVP_CIPHER_CTX, free_context> context_;
};

} // namespace

receipt_key drawn_receipt_key()
{
    std::random_device system;
    receipt_key out;
    std::ranges::generate(out, [&] { return static_cast<std::uint8_t>(system()); });
    return out;
}

receipt_key receipt_key_of(std::uint64_t seed)
{
    std::uint64_t const words[] = {mixed(~seed), mixed(mixed(~seed))};
    receipt_key out;
    static_assert(sizeof words == sizeof out);
    std::memcpy(out.data(), words, sizeof words);
    return out;
}

struct receipt_codec::ciphers {
    cipher encrypt, decrypt;
};

receipt_codec::receipt_codec(receipt_key const& key)
    : key_(key), ciphers_(new ciphers{cipher(key, true), cipher(key, false)})
{}

receipt_codec::~receipt_codec() = default;
receipt_codec::receipt_codec(receipt_codec&&) noexcept = default;
receipt_codec& receipt_codec::operator=(receipt_codec&&) noexcept = default;

// Whoever changes a block garbles the field in it and its zeros; whoever puts blocks of two handles together garbles
// the field behind the seam.

void receipt_codec::write(receipt const& r, char* out) const
{
    blocks plain{};
    auto* at = plain.data();
    for (auto const field : {r.receive, r.message, r.queue}) {
        std::memcpy(at, &field, sizeof field);
        at += block_size;
    }
    out = prefix.copy(out, prefix.size()) + out;
    auto const sealed = ciphers_->encrypt(plain);
    text::write_base64(out, {reinterpret_cast<char const*>(sealed.data()), sealed.size()});
}

std::optional<receipt> receipt_codec::read(std::string_view handle) const
{
    if (handle.size() != size || !handle.starts_with(prefix)) return {};
    blocks sealed;
    auto const bytes = text::base64_decode(handle.substr(prefix.size()));
    if (!bytes || bytes->size() != sealed.size()) return {};
    std::memcpy(sealed.data(), bytes->data(), sealed.size());
    auto const plain = ciphers_->decrypt(sealed);

    receipt out;
    auto const* at = plain.data();
    std::uint64_t rest = 0;
    for (auto* const field : {&out.receive, &out.message, &out.queue}) {
        std::uint64_t zeros = 0;
        std::memcpy(field, at, sizeof *field);
        std::memcpy(&zeros, at + sizeof *field, sizeof zeros);
        rest |= zeros;
        at += block_size;
    }
    if (rest != 0) return {};
    return out;
}

} // namespace quern::broker::detail
