#include <quern/core/detail/text/digest.hpp>

#include <boost/test/unit_test.hpp>

using namespace quern::detail;

BOOST_AUTO_TEST_SUITE(digest)

BOOST_AUTO_TEST_CASE(sha256_of_the_standards_examples)
{
    // FIPS 180-4, appendix B
    BOOST_TEST(text::hex(text::sha256("")) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    BOOST_TEST(text::hex(text::sha256("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    BOOST_TEST(text::hex(text::sha256(std::string(1'000'000, 'a'))) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

BOOST_AUTO_TEST_CASE(hmac_of_the_standards_examples)
{
    // RFC 4231: a short key, and one longer than a block
    auto const text = "what do ya want for nothing?";
    BOOST_TEST(text::hex(text::hmac_sha256("Jefe", text)) ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    BOOST_TEST(text::hex(text::hmac_sha256(
                   std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")) ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

BOOST_AUTO_TEST_CASE(an_empty_key_is_not_the_key_of_before)
{
    auto const first = text::hmac_sha256({}, "text");
    text::hmac_sha256("key", "text");
    BOOST_TEST(text::hex(text::hmac_sha256({}, "text")) == text::hex(first));
}

BOOST_AUTO_TEST_SUITE_END()
