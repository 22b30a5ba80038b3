// Every request that Quern writes, against the service's own model: names, types, and what is required.

#include <quern/sqs/detail/encode.hpp>

#include <quern/core/detail/text/base64.hpp>

#include <support/conformance.hpp>

#include <boost/test/unit_test.hpp>

#include <map>
#include <set>

using namespace quern::sqs;
using namespace quern::sqs::detail;
using namespace std::chrono_literals;
using std::string;

namespace {

namespace json = boost::json;

/// Walks a value along its shape; notes every member of a structure that it meets as "Shape.Member".
class checker {
public:
    explicit checker(json::value const& model) : shapes_(model.at("shapes")) {}

    std::set<string> met;

    void check(json::value const& value, string const& shape_name)
    {
        auto const& shape = shapes_.at(shape_name).as_object();
        auto const kind = string(shape.at("type").as_string());
        BOOST_TEST_CONTEXT(shape_name << " = " << value)
        {
            if (kind == "structure") return check_structure(value, shape_name, shape);
            if (kind == "list") {
                for (auto const& each : value.as_array())
                    check(each, reference(shape.at("member")));
            } else if (kind == "map") {
                for (auto const& each : value.as_object())
                    check(each.value(), reference(shape.at("value")));
            } else if (kind == "integer" || kind == "long") {
                BOOST_TEST(value.is_int64());
            } else if (kind == "boolean") {
                BOOST_TEST(value.is_bool());
            } else {
                BOOST_TEST(value.is_string());
                if (kind == "blob") BOOST_TEST(quern::detail::text::base64_decode(value.as_string()).has_value());
            }
        }
    }

    /// Members of a structure, and of those inside, that are not marked as deprecated.
    void collect(string const& shape_name, std::set<string>& all) const
    {
        auto const& shape = shapes_.at(shape_name).as_object();
        if (shape.contains("member")) return collect(reference(shape.at("member")), all);
        if (shape.contains("value")) return collect(reference(shape.at("value")), all);
        if (!shape.contains("members")) return;
        for (auto const& each : shape.at("members").as_object()) {
            if (each.value().as_object().contains("deprecated")) continue;
            all.insert(shape_name + '.' + string(each.key()));
            collect(reference(each.value()), all);
        }
    }

private:
    static string reference(json::value const& to) { return string(to.at("shape").as_string()); }

    void check_structure(json::value const& value, string const& shape_name, json::object const& shape)
    {
        auto const& members = shape.at("members").as_object();
        BOOST_TEST_REQUIRE(value.is_object());
        for (auto const& each : value.as_object()) {
            BOOST_TEST_REQUIRE(members.contains(each.key()), each.key());
            met.insert(shape_name + '.' + string(each.key()));
            check(each.value(), reference(members.at(each.key())));
        }
        if (!shape.contains("required")) return;
        for (auto const& name : shape.at("required").as_array()) {
            BOOST_TEST(value.as_object().contains(name.as_string()), name);
        }
    }

    json::value const& shapes_;
};

/// The fields that a constructor sets, and no more.
std::multimap<string, string> least()
{
    return {
        {"AddPermission", encode(add_permission_request("u", "l", {"1"}, {"*"}))},
        {"CancelMessageMoveTask", encode(cancel_message_move_task_request("h"))},
        {"ChangeMessageVisibility", encode(change_message_visibility_request("u", "h", 1s))},
        {"ChangeMessageVisibilityBatch", encode(change_message_visibility_batch_request("u", {{"0", "h", 1s}}))},
        {"CreateQueue", encode(create_queue_request("q"))},
        {"DeleteMessage", encode(delete_message_request("u", "h"))},
        {"DeleteMessageBatch", encode(delete_message_batch_request("u", {{"0", "h"}}))},
        {"DeleteQueue", encode(delete_queue_request("u"))},
        {"GetQueueAttributes", encode(get_queue_attributes_request("u"))},
        {"GetQueueUrl", encode(get_queue_url_request("q"))},
        {"ListDeadLetterSourceQueues", encode(list_dead_letter_source_queues_request("u"))},
        {"ListMessageMoveTasks", encode(list_message_move_tasks_request("s"))},
        {"ListQueueTags", encode(list_queue_tags_request("u"))},
        {"ListQueues", encode(list_queues_request())},
        {"PurgeQueue", encode(purge_queue_request("u"))},
        {"ReceiveMessage", encode(receive_message_request("u"))},
        {"RemovePermission", encode(remove_permission_request("u", "l"))},
        {"SendMessage", encode(send_message_request("u", "b"))},
        {"SendMessageBatch", encode(send_message_batch_request("u", {{"0", "b"}}))},
        {"SetQueueAttributes", encode(set_queue_attributes_request("u", {}))},
        {"StartMessageMoveTask", encode(start_message_move_task_request("s"))},
        {"TagQueue", encode(tag_queue_request("u", {}))},
        {"UntagQueue", encode(untag_queue_request("u", {}))},
    };
}

/// Requests with everything that can be set, where that is more.
std::multimap<string, string> most()
{
    auto const fill = [](auto& sent) {
        sent.delay = 1s;
        sent.attributes = {{"a", {"String", "v"}}, {"b", {"Binary", "v"}}};
        sent.system_attributes = {{"AWSTraceHeader", {"String", "Root=1"}}};
        sent.deduplication_id = "d";
        sent.group_id = "g";
    };
    send_message_request sent("u", "b");
    fill(sent);
    send_message_batch_request batch("u", {{"0", "b"}});
    fill(batch.entries[0]);

    receive_message_request receive("u");
    receive.visibility_timeout = 1s;
    receive.wait_time = 20s;
    receive.system_attribute_names = {"All"};
    receive.attribute_names = {"All"};
    receive.attempt_id = "a";

    create_queue_request create("q");
    create.attributes = {{"DelaySeconds", "0"}};
    create.tags = {{"team", "mill"}};
    get_queue_url_request url("q");
    url.owner_account_id = "1";
    list_queues_request queues;
    queues.name_prefix = "p";
    queues.next_token = "t";
    queues.max_results = 10;
    list_dead_letter_source_queues_request sources("u");
    sources.next_token = "t";
    sources.max_results = 10;
    start_message_move_task_request start("s");
    start.destination_arn = "d";
    start.max_messages_per_second = 500;
    list_message_move_tasks_request tasks("s");
    tasks.max_results = 10;

    return {
        {"SendMessage", encode(sent)},
        {"SendMessageBatch", encode(batch)},
        {"ReceiveMessage", encode(receive)},
        {"CreateQueue", encode(create)},
        {"GetQueueUrl", encode(url)},
        {"ListQueues", encode(queues)},
        {"ListDeadLetterSourceQueues", encode(sources)},
        {"StartMessageMoveTask", encode(start)},
        {"ListMessageMoveTasks", encode(tasks)},
        {"SetQueueAttributes", encode(set_queue_attributes_request("u", {{"DelaySeconds", "0"}}))},
        {"TagQueue", encode(tag_queue_request("u", {{"team", "mill"}}))},
        {"UntagQueue", encode(untag_queue_request("u", {"team"}))},
    };
}

} // namespace

BOOST_AUTO_TEST_SUITE(service_model)

BOOST_AUTO_TEST_CASE(every_request_is_written_as_the_model_has_it)
{
    auto const model = quern::test::conformance_json("05-sqs-model/service-2.json");
    if (!model) return;
    auto const& operations = model->at("operations").as_object();
    checker checks(*model);
    auto requests = least();
    BOOST_TEST(requests.size() == operations.size());
    requests.merge(most());

    std::set<string> known;
    for (auto const& [operation, body] : requests) {
        BOOST_TEST_REQUIRE(operations.contains(operation), operation);
        auto const input = string(operations.at(operation).at("input").at("shape").as_string());
        checks.check(json::parse(body), input);
        checks.collect(input, known);
    }

    // Not written on purpose: the older name of MessageSystemAttributeNames, and what the service reserves.
    for (string const name : {"ReceiveMessageRequest.AttributeNames", "MessageAttributeValue.StringListValues",
             "MessageAttributeValue.BinaryListValues", "MessageSystemAttributeValue.BinaryValue",
             "MessageSystemAttributeValue.StringListValues", "MessageSystemAttributeValue.BinaryListValues"}) {
        known.erase(name);
    }
    for (auto const& name : known)
        BOOST_TEST(checks.met.contains(name), name << " is never written");
}

BOOST_AUTO_TEST_SUITE_END()
