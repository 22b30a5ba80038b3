#include "recorded.hpp"

// The scenarios of the recorded tests about queues and move tasks.

namespace quern::test {
namespace {

quern::result<sqs::queue_url_response> try_create(service& s, std::string name, sqs::string_map attributes)
{
    sqs::create_queue_request request(std::move(name));
    request.attributes = std::move(attributes);
    return s.engine.create_queue(request, s.now);
}

boost::json::value error_of(quern::result<sqs::queue_url_response> const& outcome)
{
    BOOST_REQUIRE(!outcome);
    return as_recorded(outcome.error());
}

quern::result<sqs::attributes_response> attributes(service& s, std::string const& url, strings names = {"All"})
{
    sqs::get_queue_attributes_request request(url);
    request.attribute_names = std::move(names);
    return s.engine.get_queue_attributes(request, s.now);
}

void different_attributes(service& s, recording& r)
{
    auto const url = s.create("q", {{"ReceiveMessageWaitTimeSeconds", "1"}, {"DelaySeconds", "1"}});
    sqs::string_map const changed{{"ReceiveMessageWaitTimeSeconds", "1"}, {"DelaySeconds", "2"}};
    r.match("create_queue_01", error_of(try_create(s, "q", changed)));
    s.set(url, {{"DelaySeconds", "2"}}).value();
    s.create("q", changed);
    r.match("create_queue_02",
        error_of(try_create(s, "q", {{"ReceiveMessageWaitTimeSeconds", "1"}, {"DelaySeconds", "1"}})));
}

void create_and_update(service& s, recording& r)
{
    auto const url = s.create("q",
        {{"MessageRetentionPeriod", "604800"}, {"ReceiveMessageWaitTimeSeconds", "10"}, {"VisibilityTimeout", "20"}});
    r.match("get_queue_attributes", attributes(s, url));
    s.set(url, {{"MaximumMessageSize", "2048"}, {"VisibilityTimeout", "69"}, {"DelaySeconds", "420"}}).value();
    r.match("get_updated_queue_attributes", attributes(s, url));
}

void unsupported_attribute(service& s, recording& r)
{
    r.match("invalid-attr-name-1", s.set(s.create("q"), {{"FifoQueue", "true"}}));
    auto const fifo = s.create_fifo("q");
    s.set(fifo, {{"FifoQueue", "true"}}).value();
    r.match("invalid-attr-name-2", s.set(fifo, {{"FifoQueue", "false"}}));
}

void successive_purges(service& s, recording& r)
{
    sqs::purge_queue_request const request(s.create("q"));
    s.engine.purge_queue(request, s.now).value();
    r.match("purge_queue_error", s.engine.purge_queue(request, s.now));
}

void encryption(service& s, recording& r)
{
    strings const names{"KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds", "SqsManagedSseEnabled"};
    auto const kms = s.create("kms");
    s.set(kms,
         {{"KmsMasterKeyId", "testKeyId"}, {"KmsDataKeyReusePeriodSeconds", "6000"},
             {"SqsManagedSseEnabled", "false"}})
        .value();
    r.match("sse_kms_attributes", attributes(s, kms, names));
    auto const managed = s.create("managed");
    s.set(managed, {{"SqsManagedSseEnabled", "true"}}).value();
    r.match("sse_sqs_attributes", attributes(s, managed, names));
}

void exclusive_encryption(service& s, recording& r)
{
    auto const outcome = s.set(s.create("q"), {{"KmsMasterKeyId", "testKeyId"}, {"SqsManagedSseEnabled", "true"}});
    BOOST_REQUIRE(!outcome);
    auto const& why = outcome.error(); // recorded as Python's exception
    r.match("error",
        boost::json::value("An error occurred (" + why.service_code +
            ") when calling the SetQueueAttributes operation: " + why.message));
}

void fifo_attributes_on_standard(service& s, recording& r)
{
    auto const with = [&](char const* name, char const* value) {
        return error_of(try_create(s, "q", {{name, value}}));
    };
    r.match("invalid-attribute-fifo-queue", with("FifoQueue", "false"));
    r.match("invalid-attribute-content-based-deduplication", with("ContentBasedDeduplication", "false"));
    r.match("invalid-attribute-deduplication-scope", with("DeduplicationScope", "queue"));
    r.match("invalid-attribute-throughput-limit", with("FifoThroughputLimit", "perQueue"));
}

void default_values(service& s, recording& r)
{
    auto const url = s.create("q");
    r.match("get-queue-attributes-initial-values", attributes(s, url));
    s.set(url, {{"KmsMasterKeyId", "testKeyId"}, {"KmsDataKeyReusePeriodSeconds", "6000"}}).value();
    r.match("get-queue-attributes-after-update", attributes(s, url));
    s.set(url, {{"KmsMasterKeyId", ""}, {"KmsDataKeyReusePeriodSeconds", "300"}}).value();
    r.match("get-queue-attributes-after-set-to-defaults", attributes(s, url));
}

// ---- move tasks

struct redriven {
    service::with_dead_letters queues;
    std::string destination;
};

/// A dead-letter queue with messages, moved there as in the recordings, and a destination.
redriven prepare(service& s, int messages)
{
    redriven out{s.create_pair("q", 1), s.create("destination")};
    for (int i = 0; i != messages; ++i)
        s.send(out.queues.source, "message-" + std::to_string(i));
    for (int i = 0; i != 2 * messages; ++i)
        s.receive(out.queues.source, 1, 0);
    return out;
}

quern::result<sqs::task_handle_response> start(
    service& s, std::string from, std::optional<std::string> to, std::optional<int> rate = {})
{
    sqs::start_message_move_task_request request(std::move(from));
    request.destination_arn = std::move(to);
    request.max_messages_per_second = rate;
    return s.engine.start_message_move_task(request, s.now);
}

quern::result<sqs::list_message_move_tasks_response> list(service& s, std::string from)
{
    return s.engine.list_message_move_tasks(sqs::list_message_move_tasks_request(std::move(from)), s.now);
}

void basic_move(service& s, recording& r)
{
    auto const q = prepare(s, 2);
    auto const source = s.arn(q.queues.dead);
    r.match("start-message-move-task-response", start(s, source, s.arn(q.destination)));
    s.pass(30s);
    r.match("list-message-move-task-response", list(s, source));
}

void default_destination(service& s, recording& r)
{
    auto const q = prepare(s, 2);
    auto const source = s.arn(q.queues.dead);
    r.match("source-arn", boost::json::value(source));
    r.match("original-source", boost::json::value(s.arn(q.queues.source)));
    r.match("start-message-move-task-response", start(s, source, {}));
    s.pass(30s);
    r.match("list-message-move-task-response", list(s, source));
    BOOST_TEST(s.counts(q.queues.source) == "2/0/0");
}

void source_is_no_dead_letter_queue(service& s, recording& r)
{
    r.match("error", start(s, s.arn(s.create("source")), s.arn(s.create("destination"))));
}

void cancel_with_unknown_source(service& s, recording& r)
{
    auto const q = prepare(s, 1);
    auto const source = s.arn(q.queues.dead);
    auto const handle = start(s, source, s.arn(q.destination)).value().task_handle;
    s.engine.delete_queue(sqs::delete_queue_request(q.queues.dead), s.now).value();
    r.match("error", s.engine.cancel_message_move_task(sqs::cancel_message_move_task_request(handle), s.now));
}

void unknown_destination(service& s, recording& r)
{
    auto const q = prepare(s, 0);
    r.match("error", start(s, s.arn(q.queues.dead), s.arn(q.destination) + "doesntexist"));
}

void cancelled_move(service& s, recording& r)
{
    auto const q = prepare(s, 10);
    auto const source = s.arn(q.queues.dead);
    auto const handle = start(s, source, s.arn(q.destination), 1).value().task_handle;
    s.pass(1500ms);
    r.match("list-while", list(s, source));
    r.match("cancel", s.engine.cancel_message_move_task(sqs::cancel_message_move_task_request(handle), s.now));
    s.pass(30s);
    r.match("list-after", list(s, source), {"ApproximateNumberOfMessagesMoved"});
}

void destination_deleted(service& s, recording& r)
{
    auto const q = prepare(s, 10);
    auto const source = s.arn(q.queues.dead);
    start(s, source, s.arn(q.destination), 1).value();
    s.pass(2500ms);
    s.engine.delete_queue(sqs::delete_queue_request(q.destination), s.now).value();
    s.pass(30s);
    r.match("list", list(s, source));
}

} // namespace

std::map<std::string, scenario> queue_scenarios()
{
    return {
        {"test_create_queue_with_different_attributes_raises_exception[sqs]", different_attributes},
        {"test_create_and_update_queue_attributes[sqs]", create_and_update},
        {"test_set_unsupported_attribute_fifo[sqs]", unsupported_attribute},
        {"test_successive_purge_calls_fail[sqs]", successive_purges},
        {"test_sse_queue_attributes[sqs]", encryption},
        {"test_sse_kms_and_sqs_are_mutually_exclusive[sqs]", exclusive_encryption},
        {"test_create_standard_queue_with_fifo_attribute_raises_error[sqs]", fifo_attributes_on_standard},
        {"test_set_queue_attributes_default_values[sqs]", default_values},
    };
}

std::map<std::string, scenario> move_task_scenarios()
{
    return {
        {"test_basic_move_task_workflow", basic_move},
        {"test_move_task_workflow_with_default_destination", default_destination},
        {"test_source_needs_redrive_policy", source_is_no_dead_letter_queue},
        {"test_cancel_with_invalid_source_arn_in_task_handle", cancel_with_unknown_source},
        {"test_destination_needs_to_exist", unknown_destination},
        {"test_move_task_cancel", cancelled_move},
        {"test_move_task_delete_destination_queue_while_running", destination_deleted},
    };
}

} // namespace quern::test
