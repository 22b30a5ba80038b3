#include "quern/broker/queues_file.hpp"

#include <boost/test/unit_test.hpp>

#include <map>
#include <string>
#include <vector>

using namespace quern;
using namespace quern::app;

namespace {

constexpr std::string_view prefix = "arn:aws:sqs:eu-west-1:111111111111:";
broker::instant const now{std::chrono::seconds(1'700'000'000)};

/// One line a request.
std::string text_of(planned const& step)
{
    struct {
        std::string operator()(sqs::create_queue_request const& r) const
        {
            return "create " + r.queue_name + text(r.attributes) + (r.tags.empty() ? "" : " tags" + text(r.tags));
        }
        std::string operator()(sqs::set_queue_attributes_request const& r) const
        {
            return "set " + r.queue_url + text(r.attributes);
        }
        std::string operator()(sqs::send_message_request const& r) const
        {
            std::string out = "send " + r.queue_url + " " + r.body;
            if (r.group_id) out += " group=" + *r.group_id;
            if (r.deduplication_id) out += " id=" + *r.deduplication_id;
            if (r.delay) out += " delay=" + std::to_string(r.delay->count());
            for (auto const& [name, value] : r.attributes)
                out += " " + name + "=" + value.data_type + ":" + value.value;
            return out;
        }
        static std::string text(sqs::string_map const& map)
        {
            std::string out;
            for (auto const& [key, value] : map)
                out += " " + key + "=" + value;
            return out;
        }
    } const show;
    return std::visit(show, step.request);
}

std::vector<std::string> plan(std::string_view document)
{
    std::vector<std::string> out;
    auto const planned = plan_queues(document, "shop.toml", prefix);
    if (!planned) return {planned.error().message};
    for (auto const& step : *planned)
        out.push_back(text_of(step));
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(queues_file)

BOOST_AUTO_TEST_CASE(a_document_becomes_requests_in_an_order_that_works)
{
    std::vector<std::string> const wanted{
        "create orders VisibilityTimeout=60 tags team=shop",
        "create orders-dead",
        "create steps.fifo ContentBasedDeduplication=true FifoQueue=true FifoThroughputLimit=perQueue",
        R"(set orders RedrivePolicy={"deadLetterTargetArn":"arn:aws:sqs:eu-west-1:111111111111:orders-dead","maxReceiveCount":3})",
        "send orders hello",
        "send orders more delay=5 kind=String:new size=Number:7",
        "send steps.fifo first group=a id=1",
    };
    BOOST_TEST(plan(R"(
        [queues.orders]
        VisibilityTimeout = 60
        dead_letter_queue = "orders-dead"
        max_receive_count = 3
        tags = { team = "shop" }
        messages = ["hello", { body = "more", delay = 5, attributes = { kind = "new", size = 7 } }]
        [queues.orders-dead]
        [queues."steps.fifo"]
        ContentBasedDeduplication = true
        FifoThroughputLimit = "perQueue"
        messages = [{ body = "first", group = "a", deduplication_id = "1" }]
    )") == wanted,
        boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(two_queues_may_be_each_others_dead_letter_queues_and_ten_receives_are_the_rule)
{
    auto const steps = plan(
        "[queues.a]\ndead_letter_queue = \"b\"\n[queues.b]\ndead_letter_queue = \"arn:aws:sqs:eu-west-1:1:a\"\n");
    BOOST_REQUIRE(steps.size() == 4u);
    BOOST_TEST(steps[2].find(R"(:b","maxReceiveCount":10})") != std::string::npos);
    BOOST_TEST(steps[3].find("\"arn:aws:sqs:eu-west-1:1:a\"") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_complaint_names_file_line_column_key_and_what_would_do)
{
    std::pair<std::string_view, std::string_view> const cases[] = {
        {"[queues.q]\nVisibilityTimeout = 50000",
            "shop.toml:2:21: queues.q.VisibilityTimeout must be a whole number from 0 to 43200"},
        {"[queues.q]\nVisibilityTimeout = 5.5",
            "shop.toml:2:21: queues.q.VisibilityTimeout must be a text, a whole number, true or false"},
        {"[queues.q]\nVisibilityTimeuot = 5",
            "shop.toml:2:1: queues.q.VisibilityTimeuot is not known; there are dead_letter_queue"},
        {"[queues.q]\nFifoQueue = true", "shop.toml:2:1: queues.q.FifoQueue"},
        {"[queues.q]\nContentBasedDeduplication = true",
            "shop.toml:2:29: queues.q.ContentBasedDeduplication is refused by SQS"},
        {"[queues.q]\nPolicy = \"{\"", "shop.toml:2:10: queues.q.Policy is refused by SQS"},
        {"[queues.q]\ndead_letter_queue = \"p\"",
            "shop.toml:2:21: queues.q.dead_letter_queue names \"p\", which is no queue of this file; add [queues.p]"},
        {"[queues.q]\nmax_receive_count = 3",
            "shop.toml:2:21: queues.q.max_receive_count needs a dead_letter_queue beside it"},
        {"[queues.q]\ndead_letter_queue = \"q\"\nmax_receive_count = 0",
            "shop.toml:3:21: queues.q.max_receive_count must be a whole number from 1 to 1000"},
        {"[queues.q]\ndead_letter_queue = \"q\"\nRedrivePolicy = \"\"", "say the same; leave one of them out"},
        {"[queues.q]\ntags = { a = 1 }", "shop.toml:2:14: queues.q.tags.a must be a text in quotes"},
        {"[queues.q]\nmessages = \"x\"", "shop.toml:2:12: queues.q.messages must be a list"},
        {"[queues.q]\nmessages = [\"x\", {}]", "shop.toml:2:18: queues.q.messages[1] needs a body"},
        {"[queues.q]\nmessages = [{ body = \"x\", dealy = 1 }]",
            "queues.q.messages[0].dealy is not known; there are body"},
        {"[queues.q]\nmessages = [{ body = \"x\", delay = 901 }]",
            "queues.q.messages[0].delay must be a whole number from 0 to 900"},
        {"[queues]\nq = 1", "shop.toml:2:5: queues.q must be a table, [queues.NAME]"},
        {"[queue.q]", "shop.toml:1:2: queue is not known here; write a table [queues.NAME] for each queue"},
        {"", "shop.toml: has no queues; write a table [queues.NAME] for each"},
        {"[queues.q]\nx = = 1", "shop.toml:2:5: is no TOML: "},
        {"[queues.q]\n[queues.q]", "shop.toml:2:1: is no TOML: "},
    };
    for (auto const& [document, wanted] : cases) {
        BOOST_TEST_CONTEXT(document)
        {
            auto const got = plan(document);
            BOOST_REQUIRE(got.size() == 1u);
            BOOST_TEST(got[0].find(wanted) != std::string::npos, "\"" << got[0] << "\" lacks \"" << wanted << '"');
            BOOST_TEST(got[0].starts_with("--queues shop.toml:"));
        }
    }
}

BOOST_AUTO_TEST_CASE(what_the_engine_refuses_is_told_with_its_place)
{
    std::pair<std::string_view, std::string_view> const cases[] = {
        {"[queues.\"a b\"]", "--queues shop.toml:1:9: queues.a b is refused: "},
        {"[queues.q]\nmessages = [\"\"]", "--queues shop.toml:2:13: queues.q.messages[0] is refused: "},
        {"[queues.\"q.fifo\"]\nmessages = [\"x\"]", "MessageGroupId"},
        {"[queues.q]\ndead_letter_queue = \"p.fifo\"\n[queues.\"p.fifo\"]",
            "--queues shop.toml:2:21: queues.q.dead_letter_queue is refused: "},
    };
    for (auto const& [document, wanted] : cases) {
        BOOST_TEST_CONTEXT(document)
        {
            broker::engine queues;
            auto const made = make_queues(plan_queues(document, "shop.toml", prefix).value(), queues, now);
            BOOST_REQUIRE(!made);
            BOOST_TEST(made.error().message.find(wanted) != std::string::npos, made.error().message);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_queue_that_is_there_already_gets_no_messages_and_stays_as_it_is)
{
    broker::engine queues;
    std::string said;
    auto const log = [&](log_level, std::string_view text) { said += text; };
    auto const make = [&](std::string_view document) {
        return make_queues(plan_queues(document, "shop.toml", prefix).value(), queues, now, log);
    };
    std::string_view const document = "[queues.q]\nDelaySeconds = 0\nmessages = [\"x\", \"y\"]";
    BOOST_TEST(make(document).has_value());
    BOOST_TEST(make(document).has_value());
    BOOST_TEST(queues.look_at_queues(now).at(0).visible == 2u);
    BOOST_TEST(said == "");
    BOOST_TEST(make("[queues.q]\nDelaySeconds = 9").has_value());
    BOOST_TEST(said.starts_with("--queues shop.toml:1:9: queues.q: it was kept and stays as it is: "), said);
    BOOST_TEST(said.find("DelaySeconds") != std::string::npos, said);
}

BOOST_AUTO_TEST_SUITE_END()
