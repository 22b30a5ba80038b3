#include <quern/sqs/message.hpp>

#include <boost/test/unit_test.hpp>

using namespace quern::sqs;
using namespace std::chrono_literals;

namespace {

message with_system(std::string_view name, std::string_view value)
{
    message m;
    m.system_attributes.push_back({"SenderId", "me"});
    m.system_attributes.push_back({name, value});
    return m;
}

} // namespace

BOOST_AUTO_TEST_SUITE(received_message)

BOOST_AUTO_TEST_CASE(attributes_are_found_by_name)
{
    auto m = with_system("MessageGroupId", "blue");
    m.attributes.push_back({"colour", "String.rgb", "blue"});
    m.attributes.push_back({"image", "Binary.png", "\x89PNG"});

    BOOST_TEST(m.group_id() == "blue");
    BOOST_TEST(m.system("SenderId") == "me");
    BOOST_TEST(m.system("senderid") == "");
    BOOST_TEST(m.attribute("colour")->value == "blue");
    BOOST_TEST(!m.attribute("colour")->is_binary());
    BOOST_TEST(m.attribute("image")->is_binary());
    BOOST_TEST(m.attribute("size") == nullptr);
}

BOOST_AUTO_TEST_CASE(the_receive_count_is_0_where_it_is_no_number)
{
    BOOST_TEST(with_system("ApproximateReceiveCount", "7").receive_count() == 7);
    BOOST_TEST(message().receive_count() == 0);
    for (auto const text : {"", "x", "1x", "1.5", " 1", "99999999999999999999"}) {
        BOOST_TEST(with_system("ApproximateReceiveCount", text).receive_count() == 0, text);
    }
}

BOOST_AUTO_TEST_CASE(timestamps_are_milliseconds_since_1970_or_absent)
{
    auto const sent = with_system("SentTimestamp", "1700000000123").sent_at();
    BOOST_REQUIRE(sent.has_value());
    BOOST_TEST(sent->time_since_epoch() == 1'700'000'000'123ms);
    BOOST_TEST(with_system("ApproximateFirstReceiveTimestamp", "0").first_received_at().has_value());

    BOOST_TEST(!message().sent_at());
    for (auto const text :
        {"", "-1", "soon", "1e3", "9223372036854775807", "9223372036855", "99999999999999999999"}) {
        BOOST_TEST(!with_system("SentTimestamp", text).sent_at(), text);
    }
}

// Eight digits are read at once.
BOOST_AUTO_TEST_CASE(a_timestamp_is_read_whatever_its_length_and_nothing_that_is_no_digit_passes)
{
    std::string const all = "0987654321234";
    for (std::size_t length = 1; length <= all.size(); ++length) {
        auto const digits = all.substr(0, length);
        auto const sent = with_system("SentTimestamp", digits).sent_at();
        BOOST_REQUIRE(sent.has_value());
        BOOST_TEST(sent->time_since_epoch() == std::chrono::milliseconds(std::stoll(digits)), digits);
        for (std::size_t at = 0; at < length; ++at) {
            for (char const c : {'/', ':', '-', '+', ' ', 'a', '\x00', '\xb0', '\xff'}) {
                auto bad = digits;
                bad[at] = c;
                BOOST_TEST(
                    !with_system("SentTimestamp", bad).sent_at(), digits << " with " << int(c) << " at " << at);
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
