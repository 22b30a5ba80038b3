#include <quern/consumer/detail/byte_limit.hpp>
#include <quern/consumer/detail/message/ledger.hpp>
#include <quern/sim/virtual_clock.hpp>

#include <boost/test/unit_test.hpp>

#include <limits>

using namespace quern;
using namespace quern::detail;

namespace {

constexpr std::size_t mib = 1'048'576, kib = 1'024;

} // namespace

BOOST_AUTO_TEST_SUITE(byte_limit_rule)

BOOST_AUTO_TEST_CASE(before_the_first_answer_every_message_is_taken_to_be_as_large_as_can_be)
{
    byte_limit rule(25 * mib);
    BOOST_TEST(rule.room(0, 0) == 25u);
    BOOST_TEST(rule.room(0, 10) == 15u);
    BOOST_TEST(rule.room(5 * mib, 10) == 10u);
    BOOST_TEST(rule.room(5 * mib, 20) == 0u);
}

BOOST_AUTO_TEST_CASE(later_as_large_as_the_largest_of_late)
{
    byte_limit rule(10 * mib);
    rule.seen(kib);
    BOOST_TEST(rule.room(0, 0) == 10'240u);
    BOOST_TEST(rule.room(9 * mib, 24) == 1'000u);
    rule.seen(100 * kib);
    BOOST_TEST(rule.room(0, 0) == 102u);
    rule.seen(kib); // a small one in between does not make the next one small
    BOOST_TEST(rule.room(0, 0) < 120u);
    for (int i = 0; i < 100; ++i)
        rule.seen(kib);
    BOOST_TEST(rule.room(0, 0) > 10'000u);
}

// Whatever comes: held and expected together stay within the limit.
BOOST_AUTO_TEST_CASE(what_is_asked_for_fits)
{
    for (std::size_t size = 1; size < 2 * mib; size = size * 3 + 1) {
        byte_limit rule(4 * mib);
        rule.seen(size);
        for (std::size_t held = 1; held < 6 * mib; held += 97 * kib) {
            for (std::size_t coming = 0; coming < 20; coming += 3) {
                auto const more = rule.room(held, coming);
                if (more != 0) BOOST_REQUIRE(held + (coming + more) * size <= 4 * mib);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_message_larger_than_the_limit_comes_when_it_is_alone)
{
    byte_limit rule(mib);
    rule.seen(mib + 500); // its receipt handle counts as well
    BOOST_TEST(rule.room(0, 0) == 1u);
    BOOST_TEST(rule.room(0, 1) == 0u);
    BOOST_TEST(rule.room(1, 0) == 0u);
}

BOOST_AUTO_TEST_CASE(absent_is_no_limit)
{
    byte_limit rule(std::nullopt);
    BOOST_TEST(rule.room(std::numeric_limits<std::size_t>::max() / 2, 10) == std::numeric_limits<std::size_t>::max());
}

BOOST_AUTO_TEST_CASE(every_part_of_a_message_counts)
{
    sqs::message m;
    m.id = "1";
    m.receipt_handle = "23";
    m.body = "456";
    m.attributes.push_back({"n", "String", "value"});
    m.system_attributes.push_back({"MessageGroupId", "g"});
    BOOST_TEST(bytes_of(m) == 1u + 2 + 3 + 1 + 6 + 5 + 14 + 1);
}

// The messages of an answer share its buffer, so the last one keeps all of it.
BOOST_AUTO_TEST_CASE(an_answer_counts_until_the_last_of_its_messages_is_gone)
{
    sim::virtual_clock time;
    ledger book;
    auto const from = std::make_shared<answer>(answer{nullptr, time.now(), 1'000});
    std::vector<held_ptr> all;
    for (auto const* id : {"a", "b", "c"}) {
        sqs::message m;
        m.id = m.receipt_handle = id;
        auto const h = all.emplace_back(make_held(m, nullptr, time, time.now()));
        h->came_in = from;
        book.add(h, h->message.id());
    }
    BOOST_TEST(book.bytes() == 1'000u);
    book.remove(*all[1]);
    book.remove(*all[0]);
    book.remove(*all[0]); // once is enough
    BOOST_TEST(book.bytes() == 1'000u);
    book.remove(*all[2]);
    BOOST_TEST(book.bytes() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
