#include <quern/core/detail/text/digest.hpp>

#include <openssl/evp.h>

#include <cstring>
#include <memory>
#include <stdexcept>

namespace quern::detail::text {
namespace {

struct free_openssl {
    void operator()(EVP_MD* p) const { EVP_MD_free(p); }
    void operator()(EVP_MD_CTX* p) const { EVP_MD_CTX_free(p); }
};

/// One algorithm with a context of this thread: fetching it for each digest would cost more than a short digest.
class hasher {
public:
    explicit hasher(char const* name) : kind_(EVP_MD_fetch(nullptr, name, nullptr)), context_(EVP_MD_CTX_new())
    {
        if (!kind_ || !context_) throw std::runtime_error(std::string("OpenSSL has no ") + name);
    }

    template <class Digest>
    Digest of(text_parts parts, std::string_view before = {})
    {
        Digest out;
        unsigned size = 0;
        auto good = EVP_DigestInit_ex2(context_.get(), kind_.get(), nullptr) == 1;
        if (!before.empty()) good = good && EVP_DigestUpdate(context_.get(), before.data(), before.size()) == 1;
        for (auto const part : parts)
            good = good && EVP_DigestUpdate(context_.get(), part.data(), part.size()) == 1;
        good = good && EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(out.data()), &size) == 1;
        if (!good || size != out.size()) throw std::runtime_error("OpenSSL could not compute a digest");
        return out;
    }

private:
    std::unique_ptr<EVP_MD, free_openssl> kind_;
    std::unique_ptr<EVP_MD_CTX, free_openssl> context_;
};

/// The two digits of each byte.
constexpr auto hex_pairs = [] {
    constexpr std::string_view digits = "0123456789abcdef";
    std::array<std::array<char, 2>, 256> out{};
    for (std::size_t byte = 0; byte < out.size(); ++byte)
        out[byte] = {digits[byte >> 4], digits[byte & 15]};
    return out;
}();

hasher& sha256_of_this_thread()
{
    thread_local hasher instance("SHA256");
    return instance;
}

} // namespace

sha256_digest sha256(std::string_view text)
{
    return sha256(text_parts(&text, 1));
}

sha256_digest sha256(text_parts parts)
{
    return sha256_of_this_thread().of<sha256_digest>(parts);
}

sha1_digest sha1(std::string_view text)
{
    hasher instance("SHA1"); // for names of files
    return instance.of<sha1_digest>({&text, 1});
}

sha256_digest hmac_sha256(std::string_view key, std::string_view text)
{
    return hmac_sha256(key, text_parts(&text, 1));
}

// RFC 2104, with the block of SHA-256. Two digests through the context at hand: EVP_MAC costs several times that.
sha256_digest hmac_sha256(std::string_view key, text_parts text)
{
    std::array<char, 64> inner, outer;
    inner.fill(0x36);
    outer.fill(0x5c);
    sha256_digest short_key;
    if (key.size() > inner.size()) {
        short_key = sha256(key);
        key = bytes_of(short_key);
    }
    for (std::size_t i = 0; i < key.size(); ++i) {
        inner[i] = static_cast<char>(inner[i] ^ key[i]);
        outer[i] = static_cast<char>(outer[i] ^ key[i]);
    }
    auto& hash = sha256_of_this_thread();
    auto const first = hash.of<sha256_digest>(text, {inner.data(), inner.size()});
    auto const second = bytes_of(first);
    return hash.of<sha256_digest>({&second, 1}, {outer.data(), outer.size()});
}

void write_hex(char* to, std::span<std::byte const> bytes)
{
    for (auto const b : bytes) {
        std::memcpy(to, &hex_pairs[std::to_integer<std::size_t>(b)], 2);
        to += 2;
    }
}

void append_hex(std::string& to, std::span<std::byte const> bytes)
{
    auto const at = to.size();
    to.resize(at + 2 * bytes.size());
    write_hex(to.data() + at, bytes);
}

std::string hex(std::span<std::byte const> bytes)
{
    std::string text;
    text.reserve(2 * bytes.size());
    append_hex(text, bytes);
    return text;
}

} // namespace quern::detail::text
