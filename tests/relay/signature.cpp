#include <quern/relay/signature.hpp>

#include <boost/test/unit_test.hpp>

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
