// Copies that are the same byte for byte, up to the largest message that there can be.

#include "redrive/yard.hpp"

#include <quern/sqs/limits.hpp>

using namespace quern;
using namespace quern::test;

namespace {

/// U+0000 and up in UTF-8.
void append(std::string& to, unsigned character)
{
    auto const byte = [&](unsigned bits) { to.push_back(static_cast<char>(bits)); };
    if (character < 0x80) return byte(character);
    if (character < 0x800) {
        byte(0xc0 | character >> 6);
    } else if (character < 0x10000) {
        byte(0xe0 | character >> 12);
        byte(0x80 | (character >> 6 & 0x3f));
    } else {
        byte(0xf0 | character >> 18);
        byte(0x80 | (character >> 12 & 0x3f));
        byte(0x80 | (character >> 6 & 0x3f));
    }
    byte(0x80 | (character & 0x3f));
}

bool may_stand_in_a_message(unsigned c)
{
    return c == 0x9 || c == 0xa || c == 0xd || (c >= 0x20 && c <= 0xd7ff) || (c >= 0xe000 && c <= 0xfffd) ||
        (c >= 0x10000 && c <= 0x10ffff);
}

std::string every_byte()
{
    std::string out;
    for (int i = 0; i < 256; ++i)
        out.push_back(static_cast<char>(i));
    return out;
}

struct exact_yard : yard {
    exact_yard() { options.poison_url = poison; }

    /// A message with these attributes whose body fills it up to so many bytes.
    sqs::send_message_request of_size(std::size_t bytes, sqs::attribute_map attributes = {})
    {
        sqs::send_message_request out(orders, "");
        auto const taken = sqs::message_size("", attributes);
        out.body = std::string(bytes - taken, 'x');
        out.attributes = std::move(attributes);
        return out;
    }
};

bool is_ours(std::string const& name)
{
    return name.starts_with("x-redrive") || name.starts_with("x-original") || name.starts_with("Quern");
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(redriver_exact, exact_yard)

BOOST_AUTO_TEST_CASE(every_character_that_a_message_may_have_arrives)
{
    std::vector<std::string> letters(1);
    for (unsigned c = 1; c <= 0x10ffff; ++c) {
        if (!may_stand_in_a_message(c)) continue;
        if (letters.back().size() > 1'000'000) letters.emplace_back();
        append(letters.back(), c);
    }
    BOOST_TEST(letters.size() == 5u);
    for (auto const& body : letters)
        send(orders, sqs::send_message_request(orders, body));
    fail_all(orders);
    auto const got = run();
    BOOST_TEST(got.redriven == letters.size());
    std::map<std::string, int> expected;
    for (auto const& body : letters)
        ++expected[body];
    BOOST_TEST(bodies(orders) == expected);
}

BOOST_AUTO_TEST_CASE(ten_attributes_of_all_types_and_a_byte_less_than_the_most_arrive_unchanged_as_poison)
{
    sqs::attribute_map ten{{"text", {"String", "\xC3\xA4 \t\r\n<&>\"'\xF0\x9F\x9A\x80"}}, {"blank", {"String", " "}},
        {"json", {"String.json", "{}"}}, {"number", {"Number", "-0.00123e10"}},
        {"large", {"Number.int", "12345678901234567890123456789012345678"}}, {"bytes", {"Binary", every_byte()}},
        {"zero", {"Binary", std::string(1, '\0')}}, {"picture", {"Binary.png", "\x89PNG\r\n\x1a\n"}},
        {"label", {"Binary." + std::string(249, 'l'), "x"}}, {std::string(256, 'n'), {"String", "x"}}};
    for (auto const bytes : {sqs::max_message_bytes - 1, sqs::max_message_bytes}) {
        auto m = of_size(bytes, ten);
        m.system_attributes = {{"AWSTraceHeader", {"String", "Root=1-67891233-abcdef012345678912345678"}}};
        m.group_id = "tenant";
        send(orders, m);
        fail_all(orders);
        reports.clear();
        auto const got = run();
        BOOST_TEST(got.isolated == 1u);
        auto const there = take(poison);
        BOOST_REQUIRE(there.size() == 1u);
        BOOST_TEST(there[0].body == m.body);
        BOOST_TEST(there[0].attributes == ten);
        BOOST_TEST(there[0].system.at("AWSTraceHeader") == "Root=1-67891233-abcdef012345678912345678");
        BOOST_TEST(there[0].system.at("MessageGroupId") == "tenant");
    }
}

// What ours take: 24 bytes for the count, 64 for the first receive, 49 for both in one, 57 for the id.
BOOST_AUTO_TEST_CASE(a_large_message_gets_of_our_attributes_what_there_is_room_for)
{
    struct row {
        std::size_t free;
        bool redriven;
        std::size_t ours;
    };
    for (auto const& r : std::vector<row>{{145, true, 3}, {144, true, 2}, {106, true, 2}, {105, true, 1},
             {49, true, 1}, {48, false, 1}, {22, false, 0}, {1, false, 0}, {0, false, 0}}) {
        BOOST_TEST_CONTEXT(r.free << " bytes free")
        {
            auto const m = of_size(sqs::max_message_bytes - r.free, {{"kept", {"Number", "7"}}});
            send(orders, m);
            fail_all(orders);
            reports.clear();
            auto const got = run();
            BOOST_TEST(got.redriven == (r.redriven ? 1u : 0u));
            BOOST_TEST(got.isolated == (r.redriven ? 0u : 1u));
            auto const there = take(r.redriven ? orders : poison);
            BOOST_REQUIRE(there.size() == 1u);
            BOOST_TEST(there[0].body == m.body);
            auto attributes = there[0].attributes;
            BOOST_TEST(std::erase_if(attributes, [](auto const& a) { return is_ours(a.first); }) == r.ours);
            BOOST_TEST(attributes == m.attributes);
            BOOST_TEST(all(dead) == 0);
        }
    }
}

// Ten of them are no batch: 1 MiB is what one takes in all.
BOOST_AUTO_TEST_CASE(many_large_messages_go_each_in_a_request_of_its_own)
{
    for (int i = 0; i < 25; ++i) {
        auto m = of_size(sqs::max_message_bytes - 100);
        m.body.replace(0, 3, std::to_string(100 + i));
        send(orders, m);
    }
    fail_all(orders);
    auto const got = run();
    BOOST_TEST(got.redriven == 25u);
    BOOST_TEST(got.failures == 0u);
    auto const there = bodies(orders);
    BOOST_TEST(there.size() == 25u);
    for (auto const& [body, times] : there)
        BOOST_TEST((times == 1 && body.size() == sqs::max_message_bytes - 100));
}

BOOST_AUTO_TEST_SUITE_END()
