#include "service.hpp"

#include <quern/broker/detail/recent.hpp>

using namespace quern::test;
using boost::test_tools::per_element;

BOOST_AUTO_TEST_SUITE(deduplication)

BOOST_AUTO_TEST_CASE(a_duplicate_is_answered_like_the_original_and_not_stored)
{
    service s;
    auto const url = s.create_fifo("q");
    sqs::send_message_request request(url, "a");
    request.group_id = "g";
    request.deduplication_id = "id";
    auto const first = s.engine.send_message(request, s.now).value();
    request.body = "b";
    auto const second = s.engine.send_message(request, s.now).value();
    BOOST_TEST(second.message_id == first.message_id);
    BOOST_TEST(second.sequence_number == first.sequence_number);
    BOOST_TEST(second.md5_of_body == "92eb5ffee6ae2fec3ad71c777531578f"); // of "b": the client checks what it sent
    BOOST_TEST(s.bodies(url) == strings({"a"}), per_element());
}

BOOST_AUTO_TEST_CASE(an_id_is_remembered_for_five_minutes_also_after_the_delete)
{
    service s;
    auto const url = s.create_fifo("q");
    s.send(url, "a", "g", "id");
    s.remove(url, s.handle(url)).value();
    s.pass(299s);
    s.send(url, "b", "g", "id");
    BOOST_TEST(s.bodies(url).empty());
    s.pass(1s); // counted from the original, not from the duplicate
    s.send(url, "c", "g", "id");
    BOOST_TEST(s.bodies(url) == strings({"c"}), per_element());
}

BOOST_AUTO_TEST_CASE(the_scope_is_the_queue_or_the_group)
{
    service s;
    auto const whole = s.create_fifo("queue");
    s.send(whole, "a", "g", "id");
    s.send(whole, "b", "h", "id");
    BOOST_TEST(s.bodies(whole) == strings({"a"}), per_element());

    auto const per_group = s.create_fifo("group", {{"DeduplicationScope", "messageGroup"}});
    s.send(per_group, "a", "g", "id");
    s.send(per_group, "b", "h", "id");
    s.send(per_group, "c", "h", "id");
    BOOST_TEST(s.bodies(per_group) == strings({"a", "b"}), per_element());
}

BOOST_AUTO_TEST_CASE(a_changed_scope_counts_a_minute_later)
{
    service s;
    auto const url = s.create_fifo("q");
    s.send(url, "a", "g", "id");
    s.set(url, {{"DeduplicationScope", "messageGroup"}}).value();
    s.pass(59s);
    s.send(url, "b", "h", "id");
    s.pass(1s);
    s.send(url, "c", "h", "id");
    BOOST_TEST(s.bodies(url) == strings({"a", "c"}), per_element());
}

BOOST_AUTO_TEST_CASE(content_based_ids_are_the_digest_of_the_body_alone_and_an_own_id_overrides)
{
    service s;
    auto const url = s.create_fifo("q", {{"ContentBasedDeduplication", "true"}});
    sqs::send_message_request request(url, "abc");
    request.group_id = "g";
    s.engine.send_message(request, s.now).value();
    request.attributes["x"] = {"String", "other"};
    s.engine.send_message(request, s.now).value(); // dropped
    request.deduplication_id = "own";
    s.engine.send_message(request, s.now).value();

    auto const got = s.receive(url);
    BOOST_REQUIRE(got.messages.size() == 2u);
    BOOST_TEST(got.messages[0].system("MessageDeduplicationId") ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"); // FIPS 180-2, B.1
    BOOST_TEST(got.messages[1].system("MessageDeduplicationId") == "own");
}

BOOST_AUTO_TEST_CASE(a_purge_forgets_the_ids)
{
    service s;
    auto const url = s.create_fifo("q");
    s.send(url, "a", "g", "id");
    s.engine.purge_queue(sqs::purge_queue_request(url), s.now).value();
    s.send(url, "b", "g", "id");
    BOOST_TEST(s.bodies(url) == strings({"b"}), per_element());
}

BOOST_AUTO_TEST_CASE(recent_notes_go_after_five_minutes_and_can_be_renewed)
{
    broker::detail::recent<int> notes;
    quern::wall_time const t{};
    notes.note("a", 1, t);
    notes.note("b", 2, t + 1min);
    BOOST_TEST(*notes.find("a", t + 4min) == 1);
    notes.note("a", 3, t + 4min);
    BOOST_TEST(*notes.find("a", t + 5min) == 3);
    BOOST_TEST(!notes.find("b", t + 6min));
    BOOST_TEST(!notes.find("a", t + 9min));
    notes.note("c", 4, t + 10min);
    notes.forget("c");
    BOOST_TEST(!notes.find("c", t + 10min));
}

// What is old was dropped with the next note only, and the table kept its size for ever.
BOOST_AUTO_TEST_CASE(the_memory_of_old_notes_is_given_back)
{
    broker::detail::recent<int> notes;
    quern::wall_time const t{};
    for (int i = 0; i != 10'000; ++i)
        notes.note(std::to_string(i), i, t + i * 1ms);
    BOOST_TEST(notes.buckets() >= 10'000u);
    BOOST_TEST((notes.next_end() == t + 5min));
    notes.drop_old(t + 5min + 9s);
    BOOST_TEST(notes.size() == 999u);
    BOOST_TEST(notes.buckets() < 8'000u);
    notes.drop_old(t + 6min);
    BOOST_TEST(notes.size() == 0u);
    BOOST_TEST(notes.buckets() < 100u);
    BOOST_TEST(!notes.next_end().has_value());
}

BOOST_AUTO_TEST_CASE(a_queue_that_nobody_uses_any_more_forgets_its_ids_in_time)
{
    service s;
    auto const url = s.create_fifo("q");
    for (int i = 0; i != 3; ++i) {
        s.send(url, "m" + std::to_string(i), "g");
        s.pass(1min);
    }
    sqs::receive_message_request request(url);
    request.max_messages = 10;
    request.attempt_id = "attempt";
    for (auto const& m : s.receive(request).messages)
        s.remove(url, m.receipt_handle).value();
    BOOST_TEST((s.engine.next_event() == s.now + 2min)); // the first id
    s.pass(2min);
    BOOST_TEST((s.engine.next_event() == s.now + 1min));
    s.pass(3min); // the last one, and the attempt
    BOOST_TEST(!s.engine.next_event().has_value());
}

BOOST_AUTO_TEST_SUITE_END()
