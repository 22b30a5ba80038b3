#include <quern/core/detail/md5.hpp>

#include <boost/test/unit_test.hpp>

#include <openssl/evp.h>

#include <random>
#include <string>
#include <vector>

using namespace quern;
using namespace quern::detail;

namespace {

md5_digest of_openssl(std::string_view text)
{
    md5_digest out;
    auto* const to = reinterpret_cast<unsigned char*>(out.data());
    BOOST_REQUIRE(EVP_Digest(text.data(), text.size(), to, nullptr, EVP_md5(), nullptr) == 1);
    return out;
}

std::string hex(md5_digest const& digest)
{
    std::string out;
    for (auto const b : digest) {
        out += "0123456789abcdef"[std::to_integer<int>(b) >> 4];
        out += "0123456789abcdef"[std::to_integer<int>(b) & 15];
    }
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(md5_digests)

BOOST_AUTO_TEST_CASE(of_the_standards_examples)
{
    // RFC 1321, A.5
    BOOST_TEST(hex(md5("")) == "d41d8cd98f00b204e9800998ecf8427e");
    BOOST_TEST(hex(md5("message digest")) == "f96b697d7cb7938d525a2f31aaf161d0");
    BOOST_TEST(hex(md5(std::string_view())) == "d41d8cd98f00b204e9800998ecf8427e");
}

// The last block holds 55 bytes of text at the most, and sizes 0 to 200 see it full, nearly full and spilling over.
BOOST_AUTO_TEST_CASE(of_every_size_and_in_any_company_as_openssl_says)
{
    std::mt19937 random(1);
    std::uniform_int_distribution<int> character(0, 255);
    std::vector<std::string> texts;
    for (std::size_t size = 0; size <= 200; ++size) {
        texts.emplace_back();
        for (std::size_t i = 0; i < size; ++i)
            texts.back() += static_cast<char>(character(random));
    }
    std::shuffle(texts.begin(), texts.end(), random);
    for (std::size_t company = 1; company <= 40; ++company) {
        std::vector<std::string_view> some(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(company));
        std::vector<md5_digest> digests(company);
        md5(some, digests);
        for (std::size_t i = 0; i < company; ++i)
            BOOST_TEST(hex(digests[i]) == hex(of_openssl(some[i])));
        std::rotate(texts.begin(), texts.begin() + 7, texts.end());
    }
    for (auto const& text : texts)
        BOOST_TEST(hex(md5(text)) == hex(of_openssl(text)));
}

BOOST_AUTO_TEST_CASE(of_a_large_text_beside_small_ones)
{
    std::string const large(1'048'576, 'q');
    std::string_view const texts[] = {"a", large, "", "b", "c", large};
    md5_digest digests[6];
    md5(texts, digests);
    for (std::size_t i = 0; i < 6; ++i)
        BOOST_TEST(hex(digests[i]) == hex(of_openssl(texts[i])));
}

BOOST_AUTO_TEST_SUITE_END()
