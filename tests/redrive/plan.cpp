#include <quern/redrive/plan.hpp>
#include <quern/sqs/limits.hpp>

#include <boost/test/unit_test.hpp>

#include <list>
#include <ostream>
#include <string>
#include <vector>

using namespace quern;
using namespace quern::redrive;
using namespace std::chrono_literals;

namespace quern::redrive {

static std::ostream& operator<<(std::ostream& to, action a)
{
    return to << (a == action::send ? "send" : a == action::isolate ? "isolate" : "skip");
}

} // namespace quern::redrive

namespace {

wall_time const start{1'700'000'000s};

struct dead {
    sqs::message m;
    plan_policy policy;
    route way{"dead", "orders", "poison"};
    std::list<std::string> kept; // what the message's views point at
    std::mt19937_64 random{1};

    dead()
    {
        m.id = "the-id";
        m.body = "body";
        m.system_attributes = {{"SentTimestamp", "1699999000000"},
            {"ApproximateFirstReceiveTimestamp", "1699999990123"}, {"AWSTraceHeader", "Root=1-2-3"},
            {"DeadLetterQueueSourceArn", "arn:aws:sqs:eu-west-1:123456789012:orders"}};
        policy.began_at = start;
        policy.cutoff = start;
    }

    void add(std::string name, std::string type, std::string value)
    {
        auto const& n = kept.emplace_back(std::move(name));
        auto const& t = kept.emplace_back(std::move(type));
        m.attributes.push_back({n, t, kept.emplace_back(std::move(value))});
    }
    void sent_at(std::string milliseconds)
    {
        m.system_attributes[0].value = kept.emplace_back(std::move(milliseconds));
    }
    plan made() { return plan_for(m, way, policy, random); }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(plan_rule, dead)

BOOST_AUTO_TEST_CASE(the_first_attempt_is_counted_and_knows_when_the_message_was_received_first)
{
    auto const p = made();
    BOOST_TEST(p.what == action::send);
    BOOST_TEST(p.attempt == 1);
    BOOST_TEST(p.copy.body == "body");
    BOOST_TEST(p.copy.attributes.at("x-redrive-attempt").value == "1");
    BOOST_TEST(p.copy.attributes.at("x-redrive-attempt").data_type == "Number");
    BOOST_TEST(p.copy.attributes.at("x-original-first-receive-timestamp").value == "2023-11-14T22:13:10.123Z");
    BOOST_TEST(p.copy.attributes.at("x-original-first-receive-timestamp").data_type == "String");
    BOOST_TEST(p.copy.system_attributes.at("AWSTraceHeader").value == "Root=1-2-3");
    BOOST_TEST(p.copy.attributes.at("QuernOriginalId").value == "the-id");
    BOOST_TEST(p.copy.attributes.size() == 3u);
    BOOST_TEST(!p.copy.group_id);
    BOOST_TEST(!p.copy.deduplication_id);
}

// The behaviour by what the message's attribute says. An attempt that came back is of this run.
BOOST_AUTO_TEST_CASE(the_attribute_decides_what_becomes_of_a_message)
{
    struct row {
        std::string value;
        bool came_back;
        action what;
        int attempt;
    };
    std::vector<row> const table{{"0", false, action::send, 1}, {"1", false, action::send, 2},
        {"4", false, action::send, 5}, {"5", false, action::isolate, 5}, {"6", false, action::isolate, 6},
        {"999999999", false, action::isolate, 999'999'999}, {"99999999999", false, action::isolate, 0},
        {"-1", false, action::isolate, 0}, {"", false, action::isolate, 0}, {"many", false, action::isolate, 0},
        {"2x", false, action::isolate, 0}, {"2 2020-01-01T00:00:00.000Z", false, action::send, 3},
        {"1", true, action::skip, 1}, {"5", true, action::isolate, 5}, {"many", true, action::isolate, 0}};
    for (auto const& r : table) {
        BOOST_TEST_CONTEXT(r.value << (r.came_back ? ", came back" : ""))
        {
            m.attributes.clear();
            add("x-redrive-attempt", "Number", r.value);
            sent_at(r.came_back ? "1700000000000" : "1699999999999");
            auto const p = made();
            BOOST_TEST(p.what == r.what);
            BOOST_TEST(p.attempt == r.attempt);
            BOOST_TEST(p.has_come_back == r.came_back);
            BOOST_TEST(p.reason.empty() == (r.what == action::send));
        }
    }
}

BOOST_AUTO_TEST_CASE(what_is_new_in_the_queue_is_no_return)
{
    sent_at("1700000005000"); // sent and failed while the run goes on, never redriven
    BOOST_TEST(made().what == action::send);
}

BOOST_AUTO_TEST_CASE(without_a_cutoff_what_came_back_is_sent_again)
{
    policy.cutoff.reset();
    add("x-redrive-attempt", "Number", "1");
    sent_at("1700000005000");
    BOOST_TEST(made().what == action::send);
}

BOOST_AUTO_TEST_CASE(the_delay_doubles_up_to_its_limit)
{
    std::vector<std::chrono::seconds> const delays{60s, 120s, 240s, 480s, 900s, 900s};
    policy.max_attempts = 10;
    for (std::size_t n = 0; n < delays.size(); ++n) {
        m.attributes.clear();
        add("x-redrive-attempt", "Number", std::to_string(n));
        BOOST_TEST(made().copy.delay.value().count() == delays[n].count());
    }
    policy.delay_base = 0s;
    BOOST_TEST(!made().copy.delay); // the queue's own
}

BOOST_AUTO_TEST_CASE(a_fifo_queue_gets_group_and_a_new_deduplication_id_and_the_delay_is_waited_out_before)
{
    way.to = "orders.fifo";
    m.system_attributes.push_back({"MessageGroupId", "g"});
    auto const first = made();
    BOOST_TEST(first.copy.group_id.value() == "g");
    BOOST_TEST(first.copy.deduplication_id.value() == "the-id-redrive-1");
    BOOST_TEST(!first.copy.delay);
    BOOST_TEST(first.not_before.value() == start + 60s);
    add("x-redrive-attempt", "Number", "1");
    auto const second = made();
    BOOST_TEST(second.copy.deduplication_id.value() == "the-id-redrive-2");
    BOOST_TEST(second.not_before.value() == start + 120s);
    policy.cutoff.reset(); // it failed at 5 s: its delay counts from then
    sent_at("1700000005000");
    BOOST_TEST(made().not_before.value() == start + 125s);
}

BOOST_AUTO_TEST_CASE(without_a_group_a_fifo_message_is_a_group_of_its_own)
{
    way.to = "orders.fifo";
    BOOST_TEST(made().copy.group_id.value() == "the-id");
}

BOOST_AUTO_TEST_CASE(the_group_of_a_standard_queue_stays)
{
    m.system_attributes.push_back({"MessageGroupId", "tenant"});
    BOOST_TEST(made().copy.group_id.value() == "tenant");
    BOOST_TEST(!made().copy.deduplication_id);
}

// A mover that adds an eleventh attribute fails for ever.
BOOST_AUTO_TEST_CASE(attributes_of_the_message_are_never_dropped_and_ours_share_what_room_there_is)
{
    struct row {
        int others;
        action what;
        std::string attempt; // as it is sent
        std::size_t sent;    // attributes
        bool names_id;
    };
    std::vector<row> const table{{7, action::send, "1", 10, true},
        {8, action::send, "1 2023-11-14T22:13:10.123Z", 10, true},
        {9, action::send, "1 2023-11-14T22:13:10.123Z", 10, false}, {10, action::isolate, "", 10, false}};
    for (auto const& r : table) {
        BOOST_TEST_CONTEXT(r.others << " attributes")
        {
            m.attributes.clear();
            for (int i = 0; i < r.others; ++i)
                add("a" + std::to_string(i), "String", "x");
            auto const p = made();
            BOOST_TEST(p.what == r.what);
            BOOST_TEST(p.copy.attributes.size() == r.sent);
            BOOST_TEST(p.copy.attributes.contains("QuernOriginalId") == r.names_id);
            if (r.what == action::send) BOOST_TEST(p.copy.attributes.at("x-redrive-attempt").value == r.attempt);
            for (int i = 0; i < r.others; ++i)
                BOOST_TEST(p.copy.attributes.contains("a" + std::to_string(i)));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_merged_attribute_is_counted_up_and_keeps_its_time)
{
    add("x-redrive-attempt", "String", "2 2020-01-01T00:00:00.000Z");
    for (int i = 0; i < 9; ++i)
        add("a" + std::to_string(i), "String", "x");
    auto const p = made();
    BOOST_TEST(p.attempt == 3);
    BOOST_TEST(p.copy.attributes.at("x-redrive-attempt").value == "3 2020-01-01T00:00:00.000Z");
    BOOST_TEST(p.copy.attributes.size() == 10u);
}

BOOST_AUTO_TEST_CASE(the_first_receive_is_never_overwritten)
{
    add("x-original-first-receive-timestamp", "String", "2020-01-01T00:00:00Z");
    BOOST_TEST(made().copy.attributes.at("x-original-first-receive-timestamp").value == "2020-01-01T00:00:00Z");
}

// An idempotency key of the kind message-id is the first one, so that what was done is not done again.
BOOST_AUTO_TEST_CASE(the_original_id_is_never_overwritten)
{
    add("QuernOriginalId", "String", "the-first-id");
    BOOST_TEST(made().copy.attributes.at("QuernOriginalId").value == "the-first-id");
    for (int i = 0; i < 7; ++i)
        add("a" + std::to_string(i), "String", "x");
    BOOST_TEST(made().copy.attributes.at("x-redrive-attempt").value == "1"); // eight: two of ours are missing
    add("a7", "String", "x");
    auto const p = made();
    BOOST_TEST(p.copy.attributes.at("QuernOriginalId").value == "the-first-id");
    BOOST_TEST(p.copy.attributes.at("x-redrive-attempt").value == "1 2023-11-14T22:13:10.123Z");
}

BOOST_AUTO_TEST_CASE(a_message_of_full_size_is_isolated_unchanged)
{
    auto const& large = kept.emplace_back(sqs::max_message_bytes, 'x');
    m.body = large;
    auto const p = made();
    BOOST_TEST(p.what == action::isolate);
    BOOST_TEST(p.copy.attributes.empty());
    BOOST_TEST(p.copy.body.size() == large.size());

    m.body = std::string_view(large).substr(0, large.size() - 60); // room for the merged one
    BOOST_TEST(made().copy.attributes.size() == 1u);
    m.body = std::string_view(large).substr(0, large.size() - 200);
    BOOST_TEST(made().copy.attributes.size() == 3u);
}

BOOST_AUTO_TEST_CASE(what_has_no_room_goes_unchanged_where_a_journal_counts_it)
{
    for (int i = 0; i < 10; ++i)
        add("a" + std::to_string(i), "String", "x");
    auto const made_with = [this](std::optional<int> counted) { return plan_for(m, way, policy, random, counted); };
    BOOST_TEST(made_with({}).what == action::isolate);
    sent_at("1700000000000"); // as the run began
    auto const first = made_with(0);
    BOOST_TEST(first.what == action::send);
    BOOST_TEST(first.attempt == 1);
    BOOST_TEST(first.is_unmarked);
    BOOST_TEST(first.copy.attributes.size() == 10u);
    BOOST_TEST(!first.has_come_back);
    BOOST_TEST(made_with(3).has_come_back);
    policy.cutoff.reset();
    BOOST_TEST(made_with(3).attempt == 4);
    BOOST_TEST(made_with(5).what == action::isolate); // its attempts are used up
    m.attributes.pop_back();
    BOOST_TEST(!made_with(0).is_unmarked);
}

BOOST_AUTO_TEST_CASE(attributes_of_every_type_are_copied_as_they_are)
{
    std::vector<std::pair<std::string, std::string>> const values{{"String", "\xC3\xA4 \t\n<&>\""},
        {"Number", "-0.00123e10"}, {"Binary", std::string("\0\xFF\x01", 3)}, {"String.json", "{}"},
        {"Number.int", "12345678901234567890"}, {"Binary.png", "\x89PNG"}};
    for (auto const& [type, value] : values)
        add("a." + std::to_string(m.attributes.size()), type, value);
    auto const p = made();
    for (std::size_t i = 0; i < values.size(); ++i) {
        auto const& got = p.copy.attributes.at("a." + std::to_string(i));
        BOOST_TEST(got.data_type == values[i].first);
        BOOST_TEST(got.value == values[i].second);
    }
}

BOOST_AUTO_TEST_CASE(poison_says_why_and_whence)
{
    add("x-redrive-attempt", "Number", "5");
    auto const p = made();
    BOOST_TEST(p.copy.attributes.at("QuernReason").value == "its attempts are used up (5 of 5)");
    BOOST_TEST(p.copy.attributes.at("QuernOriginalId").value == "the-id");
    BOOST_TEST(p.copy.attributes.at("QuernSource").value == "orders");
    BOOST_TEST(p.copy.attributes.at("x-redrive-attempt").value == "5");
    BOOST_TEST(p.copy.attributes.contains("x-original-first-receive-timestamp"));
    BOOST_TEST(!p.copy.delay);
}

BOOST_AUTO_TEST_CASE(all_can_be_isolated_for_a_reason)
{
    policy.isolate_all = "by hand";
    way.poison = "poison.fifo";
    auto const p = made();
    BOOST_TEST(p.what == action::isolate);
    BOOST_TEST(p.copy.attributes.at("QuernReason").value == "by hand");
    BOOST_TEST(p.copy.deduplication_id.value() == "the-id");
}

BOOST_AUTO_TEST_CASE(settings_that_cannot_work_are_named)
{
    BOOST_TEST(!policy.validate());
    auto wrong = policy;
    wrong.max_attempts = 0;
    BOOST_TEST(wrong.validate()->message == "max_attempts must be 1 to 1000");
    wrong = policy;
    wrong.delay_max = 901s;
    BOOST_TEST(wrong.validate()->message == "delay_max must be 0 to 15 minutes; longer takes a journal");
    wrong.waits = true;
    BOOST_TEST(!wrong.validate());
    wrong.delay_max = 24h * 30 + 1s;
    BOOST_TEST(wrong.validate()->message == "delay_max must be 0 to 30 days");
    wrong = policy;
    wrong.delay_max = 30s;
    BOOST_TEST(wrong.validate()->message == "delay_base must not be longer than delay_max");
}

BOOST_AUTO_TEST_SUITE_END()
