#include <quern/core/detail/text/base64.hpp>
#include <quern/core/detail/text/digest.hpp>
#include <quern/relay/signature.hpp>

#include <boost/test/unit_test.hpp>
#include <openssl/evp.h>

#include <vector>

using namespace quern::relay;
using namespace std::chrono_literals;

namespace {

// The example of the Standard Webhooks specification's own libraries.
constexpr auto secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
constexpr auto id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
constexpr auto body = "{\"test\": 2432232314}";
constexpr std::string_view signed_by_it = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
quern::wall_time const at(1'614'265'330s);

// RFC 8032, 7.1, test 1: the secret key, in PKCS #8 and PEM, and the public one.
constexpr auto private_pem = "-----BEGIN PRIVATE KEY-----\n"
                             "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
                             "-----END PRIVATE KEY-----\n";
constexpr auto private_base64 = "nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=";
constexpr auto public_base64 = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

unsigned char const* raw(std::string_view text)
{
    return reinterpret_cast<unsigned char const*>(text.data());
}

bool verifies(std::string_view signature, std::string_view text)
{
    auto const key = quern::detail::text::base64_decode(public_base64).value();
    auto const bytes = quern::detail::text::base64_decode(signature.substr(4)).value();
    auto* const by = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw(key), key.size());
    auto* const in = EVP_MD_CTX_new();
    bool const out = EVP_DigestVerifyInit(in, nullptr, nullptr, nullptr, by) == 1 &&
        EVP_DigestVerify(in, raw(bytes), bytes.size(), raw(text), text.size()) == 1;
    EVP_MD_CTX_free(in);
    EVP_PKEY_free(by);
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(relay_signature)

BOOST_AUTO_TEST_CASE(the_example_of_the_specification_is_signed_as_there)
{
    std::vector const keys{signing_key(secret).value()};
    BOOST_TEST(webhook_signature(keys, id, at, body) == signed_by_it);
    BOOST_TEST(webhook_signature(keys, id, at + 999ms, body) == signed_by_it); // whole seconds
    BOOST_TEST(webhook_signature(keys, id, at + 1s, body) != signed_by_it);
}

BOOST_AUTO_TEST_CASE(each_key_signs_while_they_are_exchanged)
{
    auto const other = signing_key("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA").value();
    std::vector const keys{other, signing_key(secret).value()};
    auto const both = webhook_signature(keys, id, at, body);
    auto const space = both.find(' ');
    BOOST_TEST(both.substr(space + 1) == signed_by_it);
    BOOST_TEST(both.substr(0, 3) == "v1,");
    BOOST_TEST(both.find(' ', space + 1) == both.npos);
}

BOOST_AUTO_TEST_CASE(a_signature_by_ed25519_is_one_of_id_time_and_body)
{
    std::vector const keys{ed25519_key(private_pem).value()};
    auto const signature = ed25519_signature(keys, id, at, body);
    BOOST_TEST(signature.starts_with("v1a,"));
    auto const text = std::string(id) + ".1614265330." + body;
    BOOST_TEST(verifies(signature, text));
    BOOST_TEST(!verifies(signature, text + ' '));
    std::vector const two{keys[0], std::string(32, '7')};
    auto const both = ed25519_signature(two, id, at, body);
    BOOST_TEST(both.starts_with(signature + " v1a,"));
}

BOOST_AUTO_TEST_CASE(a_private_key_is_read_from_pem_and_from_base64)
{
    auto const key = ed25519_key(private_pem).value();
    BOOST_TEST(key.size() == 32u);
    BOOST_TEST(ed25519_key(std::string("whsk_") + private_base64 + "\n").value() == key);
    auto const with_public = key + quern::detail::text::base64_decode(public_base64).value();
    BOOST_TEST(ed25519_key("whsk_" + quern::detail::text::base64_encode(with_public)).value() == key);
    for (std::string const text : {"", "whsk_", "whsk_AAAA", private_base64, secret,
             "-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----\n"}) {
        auto const none = ed25519_key(text);
        BOOST_REQUIRE(!none);
        BOOST_TEST((none.error().code == quern::errc::invalid_option));
        if (text.size() > 6) BOOST_TEST(none.error().message.find(text.substr(0, 30)) == std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(a_secret_may_stand_in_a_file_with_a_line_feed)
{
    BOOST_TEST(signing_key(std::string(secret) + "\r\n").value() == signing_key(secret).value());
    BOOST_TEST(signing_key(secret).value().size() == 24u);
}

BOOST_AUTO_TEST_CASE(what_is_no_secret_is_refused_and_not_shown)
{
    for (auto const* text : {"", " ", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_", "whsec_MfKQ",
             "whsec_!fKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}) {
        auto const out = signing_key(text);
        BOOST_TEST(!out.has_value(), text);
        if (!out) BOOST_TEST(out.error().message.find("fKQ") == std::string::npos);
    }
}

BOOST_AUTO_TEST_SUITE_END()
