#include <quern/relay/signature.hpp>

#include <quern/core/detail/text/base64.hpp>
#include <quern/core/detail/text/digest.hpp>
#include <quern/core/detail/text/trimmed.hpp>

#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <stdexcept>

namespace quern::relay {

using namespace quern::detail;

namespace {

constexpr std::size_t ed25519_size = 32;

template <auto Free>
struct freed_by {
    template <class T>
    void operator()(T* it) const
    {
        Free(it);
    }
};
using private_key = std::unique_ptr<EVP_PKEY, freed_by<EVP_PKEY_free>>;
using signing_context = std::unique_ptr<EVP_MD_CTX, freed_by<EVP_MD_CTX_free>>;
using memory = std::unique_ptr<BIO, freed_by<BIO_free>>;

unsigned char const* bytes(std::string_view text)
{
    return reinterpret_cast<unsigned char const*>(text.data());
}

constexpr std::string_view blanks = " \t\r\n"; // around what a file holds

/// OpenSSL would ask for the pass phrase on the terminal.
int no_pass_phrase(char*, int, int, void*)
{
    return 0;
}

std::string seconds_of(wall_time at)
{
    return std::to_string(std::chrono::floor<std::chrono::seconds>(at.time_since_epoch()).count());
}

} // namespace

result<std::string> ed25519_key(std::string_view said)
{
    constexpr std::string_view prefix = "whsk_";
    said = text::trimmed(said, blanks);
    if (said.starts_with(prefix)) {
        auto const key = text::base64_decode(said.substr(prefix.size()));
        if (key && (key->size() == ed25519_size || key->size() == 2 * ed25519_size))
            return key->substr(0, ed25519_size);
        return failure(errc::invalid_option, "what follows whsk_ is no base64 of 32 or 64 bytes");
    }
    memory const from(BIO_new_mem_buf(said.data(), static_cast<int>(said.size())));
    private_key const key(from ? PEM_read_bio_PrivateKey(from.get(), nullptr, no_pass_phrase, nullptr) : nullptr);
    std::string out(ed25519_size, '\0');
    auto size = out.size();
    auto* const to = reinterpret_cast<unsigned char*>(out.data());
    bool const is_one =
        key && EVP_PKEY_id(key.get()) == EVP_PKEY_ED25519 && EVP_PKEY_get_raw_private_key(key.get(), to, &size) == 1;
    if (is_one && size == ed25519_size) return out;
    return failure(errc::invalid_option,
        "it is no private key of Ed25519 without a pass phrase, in PEM or as whsk_ and base64; `openssl genpkey "
        "-algorithm ed25519` makes one");
}

std::string ed25519_signature(
    std::span<std::string const> keys, std::string_view id, wall_time at, std::string_view body)
{
    std::string signed_text(id);
    signed_text.append(".").append(seconds_of(at)).append(".").append(body);
    std::string out;
    for (auto const& key : keys) {
        private_key const by(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, bytes(key), key.size()));
        signing_context const in(EVP_MD_CTX_new());
        std::array<unsigned char, 64> signature{};
        auto size = signature.size();
        if (!by || !in || EVP_DigestSignInit(in.get(), nullptr, nullptr, nullptr, by.get()) != 1 ||
            EVP_DigestSign(in.get(), signature.data(), &size, bytes(signed_text), signed_text.size()) != 1)
            throw std::runtime_error("OpenSSL does not sign by Ed25519");
        out += out.empty() ? "v1a," : " v1a,";
        text::append_base64(out, text::bytes_of(std::as_bytes(std::span(signature.data(), size))));
    }
    return out;
}

result<std::string> signing_key(std::string_view secret)
{
    constexpr std::string_view prefix = "whsec_";
    secret = text::trimmed(secret, blanks);
    if (!secret.starts_with(prefix)) return failure(errc::invalid_option, "the secret does not begin with whsec_");
    auto const key = text::base64_decode(secret.substr(prefix.size()));
    if (!key) return failure(errc::invalid_option, "what follows whsec_ is no base64");
    if (key->size() < 24 || key->size() > 64)
        return failure(errc::invalid_option, "the secret has to have 24 to 64 bytes");
    return *key;
}

std::string webhook_signature(
    std::span<std::string const> keys, std::string_view id, wall_time at, std::string_view body)
{
    auto const seconds = seconds_of(at);
    std::string_view const parts[] = {id, ".", seconds, ".", body};
    std::string out;
    for (auto const& key : keys) {
        if (!out.empty()) out += ' ';
        out += "v1,";
        text::append_base64(out, text::bytes_of(text::hmac_sha256(key, parts)));
    }
    return out;
}

std::string plain_hmac(std::string_view secret, std::string_view method, std::string_view url, std::string_view body)
{
    std::string_view const parts[] = {method, " ", url, "\n", body};
    return text::hex(text::hmac_sha256(secret, parts));
}

} // namespace quern::relay
