#include <quern/core/detail/text/base64.hpp>

#include <boost/test/unit_test.hpp>

using namespace quern::detail;

BOOST_AUTO_TEST_SUITE(base64)

BOOST_AUTO_TEST_CASE(encodes_and_decodes_the_standards_examples)
{
    // RFC 4648, 10
    std::pair<std::string, std::string> const examples[] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}};
    for (auto const& [bytes, text] : examples) {
        BOOST_TEST(text::base64_encode(bytes) == text);
        BOOST_TEST(text::base64_decode(text).value_or("nothing") == bytes);
    }
}

BOOST_AUTO_TEST_CASE(every_byte_survives_the_round_trip_at_every_position)
{
    std::string bytes;
    for (int i = 0; i < 256; ++i)
        bytes.push_back(static_cast<char>(i));
    for (int shift = 0; shift < 3; ++shift, bytes.insert(0, "x")) {
        BOOST_TEST(text::base64_decode(text::base64_encode(bytes)) == bytes);
    }
}

BOOST_AUTO_TEST_CASE(appends)
{
    std::string text = "data:";
    text::append_base64(text, "fo");
    BOOST_TEST(text == "data:Zm8=");
}

BOOST_AUTO_TEST_CASE(refuses_whatever_it_would_not_have_written)
{
    for (auto const* const text : {"Zg", "Zg=", "Z===", "====", "Zm9v=", "Zm=v", "Zm9v\n", " Zm9v", "Zm9-", "Zm9_",
             "Zh==", "Zm9=", "Zg==Zg=="}) {
        BOOST_TEST(!text::base64_decode(text), text);
    }
}

BOOST_AUTO_TEST_SUITE_END()
