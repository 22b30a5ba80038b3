#include "recorded.hpp"

// The scenarios of the recorded tests about messages, as far as the recordings' names and answers tell them.

namespace quern::test {
namespace {

void oversized_batch(service& s, recording& r)
{
    auto const url = s.create("q");
    std::vector<sqs::send_message_entry> entries{{"1", std::string(1'048'576 - 8, 'a')}, {"2", "a"}};
    entries[0].attributes["k"] = {"String", "x"};
    r.match("send_oversized_message_batch", s.engine.send_message_batch({url, entries}, s.now));
}

void batch_over_the_queues_size(service& s, recording& r)
{
    auto const url = s.create("q", {{"MaximumMessageSize", "2048"}});
    std::vector<sqs::send_message_entry> entries{{"1", std::string(2048 - 8, 'a')}, {"2", "a"}};
    entries[0].attributes["k"] = {"String", "x"};
    r.match("send_oversized_message_batch", s.engine.send_message_batch({url, entries}, s.now));
}

void batch_message_size(service& s, recording& r)
{
    auto const url = s.create("q", {{"MaximumMessageSize", "1024"}});
    std::vector<sqs::send_message_entry> entries{{"large", std::string(1025, 'a')}, {"fits", std::string(1024, 'a')}};
    r.match("send-message-batch-result", s.engine.send_message_batch({url, entries}, s.now));
}

void visibility_after_expiration(service& s, recording& r)
{
    auto const url = s.create("q", {{"VisibilityTimeout", "1"}});
    s.send(url, "foobar");
    auto const handle = s.handle(url);
    s.pass(2s);
    r.match("visibility_timeout_expired", s.change(url, handle, 2));
}

void invalid_batch_id(service& s, recording& r)
{
    auto const url = s.create("q");
    r.match("test_invalid_batch_id", s.engine.send_message_batch({url, {{"message:1", "body"}}}, s.now));
}

template <char const* id>
void invalid_delete_id(service& s, recording& r)
{
    auto const url = s.create("q");
    r.match("error_response", s.engine.delete_message_batch({url, {{id, "testHandle1"}}}, s.now));
}
constexpr char empty_id[] = "";
constexpr char colon_id[] = "invalid:id";

strings twenty_handles(service& s, std::string const& url)
{
    strings handles;
    for (int i = 0; i != 20; ++i)
        s.send(url, "message");
    for (int i = 0; i != 2; ++i) {
        for (auto const& m : s.receive(url).messages)
            handles.emplace_back(m.receipt_handle);
    }
    return handles;
}

void too_large_delete_batch(service& s, recording& r)
{
    auto const url = s.create("q");
    std::vector<sqs::delete_message_entry> entries;
    for (auto const& handle : twenty_handles(s, url))
        entries.emplace_back(std::to_string(entries.size()), handle);
    r.match("error_response", s.engine.delete_message_batch({url, entries}, s.now));
}

void too_large_visibility_batch(service& s, recording& r)
{
    auto const url = s.create("q");
    std::vector<sqs::change_visibility_entry> entries;
    for (auto const& handle : twenty_handles(s, url)) {
        entries.emplace_back(std::to_string(entries.size()), handle, 123s);
    }
    r.match("error_response", s.engine.change_message_visibility_batch({url, entries}, s.now));
}

void binary_attributes(service& s, recording& r)
{
    auto const url = s.create("q");
    sqs::send_message_request request(url, "test");
    request.attributes["attr1"] = {"Binary",
        "traceparent\x1e"
        "00-774062d6c37081a5a0b9b5b88e30627c-2d2482211f6489da-01"};
    s.engine.send_message(request, s.now).value();
    sqs::receive_message_request receive(url);
    receive.attribute_names = {"All"};
    r.match("binary-attrs-msg", as_recorded(s.receive(receive)));
}

void dead_letter_attributes(service& s, recording& r)
{
    auto const [source, dead] = s.create_pair("q", 1);
    r.match("dlq-arn", boost::json::value(s.arn(dead)));
    r.match("sourcen-arn", boost::json::value(s.arn(source)));
    sqs::send_message_request request(source, "message-1");
    request.attributes["MyAttribute"] = {"String", "foobar"};
    request.system_attributes["AWSTraceHeader"] = {
        "String", "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"};
    s.engine.send_message(request, s.now).value();
    s.send(source, "message-2");

    auto const receive = [&](std::string const& url) {
        sqs::receive_message_request asked(url);
        asked.visibility_timeout = 0s;
        asked.attribute_names = {"All"};
        asked.system_attribute_names = {"ApproximateFirstReceiveTimestamp", "ApproximateReceiveCount",
            "SentTimestamp", "AWSTraceHeader", "DeadLetterQueueSourceArn"};
        auto const answer = as_recorded(s.receive(asked));
        auto const* messages = answer.as_object().if_contains("Messages");
        return messages ? *messages : boost::json::array();
    };
    r.match("rec-pre-dlq", receive(source));
    receive(source);
    r.match("dlq-messages", receive(dead));
}

sqs::receive_message_request asking(std::string const& url, strings system, strings user = {})
{
    sqs::receive_message_request request(url);
    request.wait_time = 5s;
    request.system_attribute_names = std::move(system);
    request.attribute_names = std::move(user);
    return request;
}

void attribute_filters(service& s, recording& r)
{
    auto const url = s.create("q", {{"VisibilityTimeout", "0"}});
    sqs::send_message_request request(url, "msg");
    request.attributes["Foo"] = {"String", "Bar"};
    s.engine.send_message(request, s.now).value();
    r.match("all_attributes", as_recorded(s.receive(asking(url, {"All"}))));
    r.match("all_system_and_message_attributes", as_recorded(s.receive(asking(url, {"All"}, {"All"}))));
    r.match("single_attribute", as_recorded(s.receive(asking(url, {"SenderId"}))));
    r.match("multiple_attributes", as_recorded(s.receive(asking(url, {"SenderId", "SequenceNumber"}))));
}

void wait_times(service& s, recording& r)
{
    auto const url = s.create("q");
    sqs::receive_message_request request(url);
    request.wait_time = 21s;
    r.match("recieve_message_error_too_large", as_recorded(s.try_receive(request).error()));
    request.wait_time = -1s;
    r.match("recieve_message_error_too_small", as_recorded(s.try_receive(request).error()));
    s.send(url, "message");
    s.send(url, "message");
    sqs::receive_message_request one(url);
    one.max_messages = 1;
    r.match("empty_short_poll_by_default_resp", as_recorded(s.receive(one)));
    one.wait_time = 0s;
    r.match("empty_short_poll_explicit_resp", as_recorded(s.receive(one)));
}

void empty_message(service& s, recording& r)
{
    r.match("send_empty_message", s.engine.send_message({s.create("q"), ""}, s.now));
}

void delete_after_timeout(service& s, recording& r)
{
    auto const url = s.create("q", {{"VisibilityTimeout", "1"}});
    s.send(url, "foobar");
    auto const handle = s.handle(url);
    s.pass(2s);
    s.remove(url, handle).value();
    r.match("delete_after_timeout_queue_empty", as_recorded(s.receive(url)));
}

void fair_queue(service& s, recording& r)
{
    auto const url = s.create("q");
    sqs::send_message_request request(url, "message");
    request.group_id = "test";
    r.match("send_message", s.engine.send_message(request, s.now));
    r.match("get-message-with-deduplication-id", as_recorded(s.receive(asking(url, {"All"}))));
}

template <char const* id>
void invalid_group(service& s, recording& r)
{
    sqs::send_message_request request(s.create("q"), "message");
    request.group_id = id;
    r.match("error-response", s.engine.send_message(request, s.now));
}
constexpr char spaces[] = "group 123";
// 129 characters
constexpr char too_long[] =
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    "aaaaaaaaaaaaaaaaa";
static_assert(sizeof too_long == 130);

template <char const* id>
void invalid_deduplication_id(service& s, recording& r)
{
    sqs::send_message_request request(s.create_fifo("q"), "message");
    request.group_id = "test";
    request.deduplication_id = id;
    r.match("error-response", s.engine.send_message(request, s.now));
}

} // namespace

std::map<std::string, scenario> message_scenarios()
{
    return {
        {"test_send_message_batch_with_oversized_contents[sqs]", oversized_batch},
        {"test_send_message_batch_with_oversized_contents_with_updated_maximum_message_size[sqs]",
            batch_over_the_queues_size},
        {"test_send_batch_message_size", batch_message_size},
        {"test_change_message_visibility_after_visibility_timeout_expiration[sqs]", visibility_after_expiration},
        {"test_invalid_batch_id[sqs]", invalid_batch_id},
        {"test_delete_message_batch_invalid_msg_id[sqs-]", invalid_delete_id<empty_id>},
        {"test_delete_message_batch_invalid_msg_id[sqs-invalid:id]", invalid_delete_id<colon_id>},
        {"test_delete_message_batch_with_too_large_batch[sqs]", too_large_delete_batch},
        {"test_change_message_visibility_batch_with_too_large_batch[sqs]", too_large_visibility_batch},
        {"test_send_message_with_binary_attributes[sqs]", binary_attributes},
        {"test_dead_letter_queue_message_attributes", dead_letter_attributes},
        {"test_receive_message_attribute_names_filters[sqs]", attribute_filters},
        {"test_receive_message_message_system_attribute_names_filters[sqs]", attribute_filters},
        {"test_send_receive_wait_time_seconds[sqs]", wait_times},
        {"test_send_empty_message[sqs]", empty_message},
        {"test_delete_after_visibility_timeout[sqs]", delete_after_timeout},
        {"test_fair_queue_with_message_group_id[sqs]", fair_queue},
        {"test_send_message_to_standard_queue_with_invalid_message_group_id[too_long]", invalid_group<too_long>},
        {"test_send_message_to_standard_queue_with_invalid_message_group_id[spaces]", invalid_group<spaces>},
        {"test_message_deduplication_id_invalid[too_long]", invalid_deduplication_id<too_long>},
        {"test_message_deduplication_id_invalid[spaces]", invalid_deduplication_id<spaces>},
    };
}

} // namespace quern::test
