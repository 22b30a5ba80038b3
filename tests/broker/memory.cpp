#include "service.hpp"

#include <quern/broker/detail/message_table.hpp>

#include <fstream>

#include <unistd.h>

#ifndef BOOST_ASIO_DISABLE_SMALL_BLOCK_RECYCLING // defined under every sanitizer: these keep freed memory back

using namespace quern::test;

namespace {

constexpr std::size_t mebibyte = 1024 * 1024;
constexpr int many = 100'000;

std::size_t resident_bytes()
{
    std::size_t total = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> total >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::size_t grown_since(std::size_t before)
{
    auto const now = resident_bytes();
    return now > before ? now - before : 0;
}

void fill(service& s, std::string const& url)
{
    for (int i = 0; i != many; ++i)
        s.send(url, std::string(1024, 'x'));
}

} // namespace

BOOST_AUTO_TEST_SUITE(memory)

// They took 175 MiB, then 131, and none of it came back.
BOOST_AUTO_TEST_CASE(a_hundred_thousand_messages_of_a_kibibyte_take_126_mebibyte_and_a_purge_gives_them_back)
{
    service s;
    auto const url = s.create("q");
    auto const before = resident_bytes();
    fill(s, url);
    BOOST_TEST(grown_since(before) <= 126 * mebibyte);
    s.engine.purge_queue({sqs::purge_queue_request(url)}, s.now).value();
    BOOST_TEST(grown_since(before) <= 8 * mebibyte);
}

BOOST_AUTO_TEST_CASE(a_queue_that_was_consumed_or_deleted_gives_its_memory_back_too)
{
    service s;
    auto const before = resident_bytes();
    auto url = s.create("consumed");
    fill(s, url);
    for (int i = 0; i != many / 10; ++i) {
        for (auto const& m : s.receive(url).messages)
            s.remove(url, m.receipt_handle).value();
    }
    BOOST_TEST(s.counts(url) == "0/0/0");
    BOOST_TEST(grown_since(before) <= 8 * mebibyte);
    url = s.create("deleted");
    fill(s, url);
    s.engine.delete_queue({sqs::delete_queue_request(url)}, s.now).value();
    BOOST_TEST(grown_since(before) <= 8 * mebibyte);
}

// Deduplication ids stayed until somebody used the queue again.
BOOST_AUTO_TEST_CASE(a_fifo_queue_gives_back_what_it_remembered_of_what_was_sent)
{
    service s;
    auto const url = s.create_fifo("q");
    auto const before = resident_bytes();
    for (int i = 0; i != many; ++i)
        s.send(url, "x", "group-" + std::to_string(i), std::string(100, 'i') + std::to_string(i));
    for (int i = 0; i != many / 10; ++i) {
        for (auto const& m : s.receive(url).messages)
            s.remove(url, m.receipt_handle).value();
    }
    BOOST_TEST(s.counts(url) == "0/0/0");
    BOOST_TEST(grown_since(before) > 16 * mebibyte);
    s.pass(std::chrono::minutes(6));
    BOOST_TEST(grown_since(before) <= 8 * mebibyte);
}

BOOST_AUTO_TEST_CASE(a_table_of_messages_shrinks_while_it_is_emptied)
{
    broker::detail::message_table table;
    std::uint64_t sent = 0;
    for (; sent != 4096; ++sent) {
        auto one = std::make_unique<broker::detail::stored_message>();
        one->number = sent;
        table.insert(std::move(one));
    }
    BOOST_TEST(table.capacity() == 4096u);
    for (std::uint64_t i = 0; i != sent - 100; ++i)
        table.extract(*table.find(i));
    BOOST_TEST(table.capacity() <= 1024u);
    for (std::uint64_t i = sent - 100; i != sent; ++i)
        BOOST_REQUIRE(table.find(i));
}

BOOST_AUTO_TEST_SUITE_END()

#endif
