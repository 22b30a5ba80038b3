#include "recorded.hpp"

// The scenarios of the recorded tests about FIFO queues.

namespace quern::test {
namespace {

sqs::send_message_request fifo_message(std::string const& url, std::string body, std::string group, std::string id)
{
    sqs::send_message_request request(url, std::move(body));
    request.group_id = std::move(group);
    request.deduplication_id = std::move(id);
    return request;
}

/// Receives without attributes, as most of the recordings do.
sqs::receive_message_response plain(
    service& s, std::string const& url, int most = 10, std::optional<int> visibility = {})
{
    sqs::receive_message_request request(url);
    request.max_messages = most;
    if (visibility) request.visibility_timeout = std::chrono::seconds(*visibility);
    return s.receive(request);
}

/// Receives and, if there was a message, deletes it.
boost::json::value received_once(service& s, std::string const& url)
{
    auto const got = plain(s, url, 1);
    for (auto const& m : got.messages)
        s.remove(url, m.receipt_handle).value();
    return as_recorded(got);
}

void empty_groups_come_back(service& s, recording& r)
{
    auto const url = s.create_fifo("q");
    s.send(url, "Message 1", "g", "1");
    auto const got = plain(s, url);
    r.match("inital-fifo-receive", as_recorded(got));
    s.remove(url, got.messages.at(0).receipt_handle).value();
    r.match("empty-fifo-receive", as_recorded(plain(s, url)));
    s.send(url, "Message 2", "g", "2");
    r.match("final-fifo-receive", as_recorded(plain(s, url)));
}

void message_attributes(service& s, recording& r)
{
    auto const url = s.create_fifo("q",
        {{"ContentBasedDeduplication", "true"}, {"VisibilityTimeout", "0"}, {"DeduplicationScope", "messageGroup"},
            {"FifoThroughputLimit", "perMessageGroupId"}});
    r.match("send_message", s.engine.send_message(fifo_message(url, "message-body-1", "group-1", "dedup-1"), s.now));
    sqs::receive_message_request request(url);
    request.system_attribute_names = {"All"};
    r.match("receive_message_0", as_recorded(s.receive(request)));
    r.match("receive_message_1", as_recorded(s.receive(request)));
}

void batch_without_deduplication_id(service& s, recording& r)
{
    auto const url = s.create_fifo("q", {{"ContentBasedDeduplication", "false"}});
    std::vector<sqs::send_message_entry> entries{{"1", "messageBody"}, {"2", "messageBody"}};
    for (auto& entry : entries)
        entry.group_id = "test-group";
    entries[0].deduplication_id = "dedup-1";
    r.match("test_missing_deduplication_id_for_fifo_queue", s.engine.send_message_batch({url, entries}, s.now));
}

void batch_without_group(service& s, recording& r)
{
    auto const url = s.create_fifo("q", {{"ContentBasedDeduplication", "false"}});
    std::vector<sqs::send_message_entry> entries{{"1", "messageBody"}, {"2", "messageBody"}};
    entries[0].group_id = "test-group";
    entries[0].deduplication_id = "dedup-1";
    entries[1].deduplication_id = "dedup-2";
    r.match("test_missing_message_group_id_for_fifo_queue", s.engine.send_message_batch({url, entries}, s.now));
}

void deduplication_across_groups(service& s, recording& r)
{
    auto const url = s.create_fifo("q");
    s.send(url, R"({"foo": "bar"})", "group-1", "dedup1");
    s.send(url, R"({"foo": "bar"})", "group-2", "dedup1");
    r.match("get-messages", as_recorded(plain(s, url, 1)));
    r.match("get-dedup-messages", as_recorded(plain(s, url, 1)));
}

void required_ids(service& s, recording& r)
{
    auto const url = s.create_fifo("q");
    auto no_deduplication = sqs::send_message_request(url, "test");
    no_deduplication.group_id = "g";
    auto no_group = sqs::send_message_request(url, "test");
    no_group.deduplication_id = "d";
    for (auto const* suffix : {"", "-query"}) {
        r.match(std::string("invalid-parameter-value") + suffix, s.engine.send_message(no_deduplication, s.now));
        r.match(std::string("missing-parameter") + suffix, s.engine.send_message(no_group, s.now));
    }
}

sqs::string_map const high_throughput{
    {"DeduplicationScope", "messageGroup"}, {"FifoThroughputLimit", "perMessageGroupId"}};
sqs::string_map const regular_throughput{{"DeduplicationScope", "queue"}, {"FifoThroughputLimit", "perQueue"}};

void high_throughput_ordering(service& s, recording& r)
{
    auto const url = s.create_fifo("q", high_throughput);
    s.send(url, "Test1", "Group1", "1");
    s.send(url, "Test2", "Group2", "1");
    r.match("same-dedup-different-grp-1", as_recorded(plain(s, url, 1)));
    r.match("same-dedup-different-grp-2", as_recorded(plain(s, url, 1)));
}

quern::result<sqs::attributes_response> all_attributes(service& s, std::string const& url)
{
    return s.engine.get_queue_attributes(sqs::get_queue_attributes_request(url), s.now);
}

void change_to_high_throughput(service& s, recording& r)
{
    auto const url = s.create_fifo("q");
    s.send(url, "Test1", "Group1", "1");
    s.send(url, "Test2", "Group2", "1");
    r.match("same-dedup-different-grp-1", received_once(s, url));
    r.match("same-dedup-different-grp-2", received_once(s, url));
    s.set(url, high_throughput).value();
    s.pass(2s);
    r.match("set-to-high-throughput", all_attributes(s, url));
    s.send(url, "Test1", "Group1", "1");
    r.match("same-dedup-different-grp-high-throughput", received_once(s, url));
    s.send(url, "Test3", "Group3", "1");
    r.match("same-dedup-different-grp-high-throughput-2", received_once(s, url));
    s.send(url, "Test4", "Group1", "2");
    r.match("new-dedup2-high-throughput", received_once(s, url));
    s.send(url, "Test5", "Group2", "2");
    r.match("same-dedup2-high-throughput", received_once(s, url));
}

void change_to_regular_throughput(service& s, recording& r)
{
    auto const url = s.create_fifo("q", high_throughput);
    s.send(url, "Test1", "Group1", "1");
    s.send(url, "Test2", "Group2", "1");
    r.match("same-dedup-different-grp-1", received_once(s, url));
    r.match("same-dedup-different-grp-2", received_once(s, url));
    s.set(url, regular_throughput).value();
    s.pass(2s);
    r.match("set-to-regular-throughput", all_attributes(s, url));
    s.send(url, "Test3", "Group3", "1");
    r.match("same-dedup-different-grp-regular-throughput", received_once(s, url));
}

void delete_after_timeout_of_fifo(service& s, recording& r)
{
    auto const url = s.create_fifo("q", {{"VisibilityTimeout", "1"}});
    s.send(url, "foobar", "g");
    auto const got = plain(s, url);
    r.match("received_sqs_message", as_recorded(got));
    s.pass(2s);
    r.match("delete_after_timeout_fifo", s.remove(url, got.messages.at(0).receipt_handle));
}

void zero_delay_is_the_queues(service& s, recording& r)
{
    auto const url = s.create_fifo("q", {{"DelaySeconds", "2"}, {"ContentBasedDeduplication", "true"}});
    sqs::send_message_request request(url, "message-1");
    request.group_id = "1";
    request.delay = 0s;
    r.match("send_message_result", s.engine.send_message(request, s.now));
    r.match("receive_message_initial_result", as_recorded(plain(s, url)));
    s.pass(3s);
    r.match("receive_message_after_delay_result", as_recorded(plain(s, url)));
}

/// Three messages of a group; one of them is extended, the timeouts of the others end.
template <int extended, int most>
void extended_in_group(service& s, recording& r)
{
    auto const url = s.create_fifo("q", {{"VisibilityTimeout", "2"}});
    for (auto const* body : {"foo", "bar", "baz"})
        s.send(url, body, "g");
    auto const got = plain(s, url);
    r.match("receive_all_messages", as_recorded(got));
    if (extended >= 0) s.change(url, got.messages.at(static_cast<std::size_t>(extended)).receipt_handle, 10).value();
    s.pass(3s);
    r.match("some-messages-invisible", as_recorded(plain(s, url, most)));
}

} // namespace

std::map<std::string, scenario> fifo_scenarios()
{
    std::string const extends = "test_fifo_group_visibility_extends_with_change_message_visibility[sqs-";
    return {
        {"test_fifo_empty_message_groups_added_back_to_queue[sqs]", empty_groups_come_back},
        {"test_fifo_message_attributes[sqs]", message_attributes},
        {"test_send_batch_missing_deduplication_id_for_fifo_queue[sqs]", batch_without_deduplication_id},
        {"test_send_batch_missing_message_group_id_for_fifo_queue[sqs]", batch_without_group},
        {"test_fifo_deduplication_not_on_message_group_id[sqs-False]", deduplication_across_groups},
        {"test_posting_to_fifo_requires_deduplicationid_group_id[sqs]", required_ids},
        {"test_fifo_high_throughput_ordering[sqs]", high_throughput_ordering},
        {"test_fifo_change_to_high_throughput_after_creation[sqs]", change_to_high_throughput},
        {"test_fifo_change_to_regular_throughput_after_creation[sqs]", change_to_regular_throughput},
        {"test_fifo_delete_after_visibility_timeout[sqs]", delete_after_timeout_of_fifo},
        {"test_fifo_queue_send_message_with_zero_delay_defaults_to_queue_delay[sqs]", zero_delay_is_the_queues},
        {extends + "all-invisible]", extended_in_group<0, 10>},
        {extends + "1-visible]", extended_in_group<1, 10>},
        {extends + "2-visible]", extended_in_group<2, 10>},
        // The recording names none extended and shows two messages: so many must have been asked for.
        {extends + "no-invisible]", extended_in_group<-1, 2>},
    };
}

} // namespace quern::test
