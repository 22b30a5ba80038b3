#include <quern/consumer/detail/settle/poison_copy.hpp>
#include <quern/sim/virtual_clock.hpp>
#include <quern/sqs/limits.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

using namespace quern;
using namespace quern::detail;

namespace {

struct rejecting {
    sim::virtual_clock time;
    sqs::message m;
    std::string const queue = "http://localhost:9324/000000000000/orders";

    rejecting()
    {
        m.id = "the-id";
        m.receipt_handle = "handle";
        m.body = "body";
        m.system_attributes = {{"ApproximateReceiveCount", "3"},
            {"ApproximateFirstReceiveTimestamp", "1700000000123"}, {"AWSTraceHeader", "Root=1-2-3"}};
    }

    sqs::send_message_entry copy(std::string const& reason = "too small", std::string const& to = "http://h/1/poison")
    {
        auto const h = make_held(m, nullptr, time, time.now());
        h->in_trouble().reason = reason;
        poison_copies copies(queue, to);
        copies.add(*h);
        return copies.take().at(0).at(0);
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(poison_copy_rule, rejecting)

BOOST_AUTO_TEST_CASE(it_tells_where_the_message_comes_from_and_why)
{
    auto const got = copy();
    BOOST_TEST(got.body == "body");
    BOOST_TEST(got.attributes.at("QuernReason").value == "too small");
    BOOST_TEST(got.attributes.at("QuernOriginalId").value == "the-id");
    BOOST_TEST(got.attributes.at("QuernSource").value == "orders");
    BOOST_TEST(got.attributes.at("QuernReceiveCount").value == "3");
    BOOST_TEST(got.attributes.at("QuernReceiveCount").data_type == "Number");
    BOOST_TEST(got.attributes.at("x-original-first-receive-timestamp").value == "2023-11-14T22:13:20.123Z");
    BOOST_TEST(got.system_attributes.at("AWSTraceHeader").value == "Root=1-2-3");
}

// Redriven and rejected once more, it still carried the reason of the first time.
BOOST_AUTO_TEST_CASE(a_second_rejection_has_its_own_reason_and_keeps_the_first_id)
{
    m.attributes = {{"QuernReason", "String", "old"}, {"QuernOriginalId", "String", "first-id"},
        {"x-original-first-receive-timestamp", "String", "2020-01-01T00:00:00.000Z"}};
    auto const got = copy("new");
    BOOST_TEST(got.attributes.at("QuernReason").value == "new");
    BOOST_TEST(got.attributes.at("QuernOriginalId").value == "first-id");
    BOOST_TEST(got.attributes.at("x-original-first-receive-timestamp").value == "2020-01-01T00:00:00.000Z");
}

// What was not said now, or found no room, was that of the first time.
BOOST_AUTO_TEST_CASE(nothing_of_an_earlier_rejection_stands_for_this_one)
{
    std::string const large(sqs::max_message_bytes - 120, 'x');
    for (bool const has_room : {true, false}) {
        m.body = has_room ? std::string_view("body") : std::string_view(large);
        m.attributes = {{"QuernReason", "String", "old"}, {"QuernOriginalId", "String", "first-id"},
            {"QuernSource", "String", "elsewhere"}, {"QuernReceiveCount", "Number", "7"}};
        auto const got = copy(has_room ? "" : std::string(80, 'y'));
        BOOST_TEST(!got.attributes.contains("QuernReason"));
        BOOST_TEST(got.attributes.at("QuernOriginalId").value == "first-id");
        BOOST_TEST((got.attributes.at("QuernSource").value == "orders"));
        BOOST_TEST(got.attributes.at("QuernReceiveCount").value == "3");
    }
}

BOOST_AUTO_TEST_CASE(a_redrive_finds_its_count_and_the_first_receive_in_the_copy)
{
    m.attributes = {{"x-redrive-attempt", "Number", "2"}};
    auto const got = copy();
    BOOST_TEST(got.attributes.at("x-redrive-attempt").value == "2");
    BOOST_TEST(got.attributes.at("x-original-first-receive-timestamp").value == "2023-11-14T22:13:20.123Z");
}

BOOST_AUTO_TEST_CASE(its_own_attributes_have_the_room_first)
{
    std::vector<std::string> names;
    for (int i = 0; i < 8; ++i)
        names.push_back("a" + std::to_string(i));
    for (auto const& n : names)
        m.attributes.push_back({n, "String", "x"});
    auto const got = copy();
    BOOST_TEST(got.attributes.size() == 10u);
    BOOST_TEST(got.attributes.contains("QuernReason"));
    BOOST_TEST(got.attributes.contains("QuernOriginalId"));
    BOOST_TEST(!got.attributes.contains("QuernSource"));
}

BOOST_AUTO_TEST_CASE(a_message_of_full_size_goes_as_it_is)
{
    std::string const large(sqs::max_message_bytes, 'x');
    m.body = large;
    auto const got = copy();
    BOOST_TEST(got.attributes.empty());
    BOOST_TEST(got.body.size() == large.size());
}

BOOST_AUTO_TEST_CASE(a_fifo_poison_queue_gets_a_group_and_the_id_against_repetition)
{
    auto const got = copy("why", "http://h/1/poison.fifo");
    BOOST_TEST(got.group_id.value() == "rejected");
    BOOST_TEST(got.deduplication_id.value() == "the-id");
}

BOOST_AUTO_TEST_SUITE_END()
