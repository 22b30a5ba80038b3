#include "recorded.hpp"

#include <support/conformance.hpp>

#include <quern/broker/detail/errors.hpp>

namespace quern::test {
namespace {

namespace json = boost::json;

json::value with_status(json::object answer, int status = 200)
{
    answer["ResponseMetadata"] = {{"HTTPHeaders", json::object()}, {"HTTPStatusCode", status}};
    return answer;
}

void put(json::object& to, char const* name, std::string const& text)
{
    if (!text.empty()) to[name] = text;
}

/// Python's way to show bytes, in which binary values were recorded.
std::string python_bytes(std::string_view bytes)
{
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out = "b'";
    for (unsigned char const c : bytes) {
        if (c >= ' ' && c < 0x7f) {
            out += static_cast<char>(c);
        } else {
            out += {'\\', 'x', digits[c >> 4], digits[c & 15]};
        }
    }
    return out + '\'';
}

json::object sent(sqs::send_message_response const& answer)
{
    json::object out;
    put(out, "MessageId", answer.message_id);
    put(out, "MD5OfMessageBody", answer.md5_of_body);
    put(out, "MD5OfMessageAttributes", answer.md5_of_attributes);
    put(out, "MD5OfMessageSystemAttributes", answer.md5_of_system_attributes);
    put(out, "SequenceNumber", answer.sequence_number);
    return out;
}

/// The lists of a batch answer, each only if it has entries.
template <class Done, class Show>
json::value batch(sqs::batch_response<Done> const& answer, Show show)
{
    json::object out;
    json::array successful;
    for (auto const& one : answer.successful) {
        auto entry = show(one);
        entry["Id"] = one.id;
        successful.push_back(entry);
    }
    json::array failed;
    for (auto const& one : answer.failed) {
        failed.push_back(
            {{"Id", one.id}, {"Code", one.code}, {"Message", one.message}, {"SenderFault", one.sender_fault}});
    }
    if (!successful.empty()) out["Successful"] = successful;
    if (!failed.empty()) out["Failed"] = failed;
    return with_status(out);
}

json::object message(sqs::message const& m)
{
    json::object out{
        {"MessageId", m.id}, {"ReceiptHandle", m.receipt_handle}, {"Body", m.body}, {"MD5OfBody", m.md5_of_body}};
    if (!m.md5_of_attributes.empty()) out["MD5OfMessageAttributes"] = m.md5_of_attributes;
    for (auto const& [name, value] : m.system_attributes) {
        if (!out.contains("Attributes")) out["Attributes"] = json::object();
        out["Attributes"].as_object()[name] = value;
    }
    for (auto const& one : m.attributes) {
        if (!out.contains("MessageAttributes")) out["MessageAttributes"] = json::object();
        json::object value{{"DataType", one.data_type}};
        if (one.is_binary()) {
            value["BinaryValue"] = python_bytes(one.value);
        } else {
            value["StringValue"] = one.value;
        }
        out["MessageAttributes"].as_object()[one.name] = value;
    }
    return out;
}

} // namespace

json::value as_recorded(failure const& why)
{
    auto const* shape = broker::detail::find_error(why.service_code);
    BOOST_REQUIRE(shape);
    json::object error{{"Code", why.service_code}, {"Message", why.message}, {"QueryErrorCode", shape->name},
        {"Type", why.sender_fault ? "Sender" : "Receiver"}};
    return with_status({{"Error", error}}, why.http_status);
}

json::value as_recorded(sqs::empty_response const&)
{
    return with_status({});
}

json::value as_recorded(sqs::send_message_response const& answer)
{
    return with_status(sent(answer));
}

json::value as_recorded(sqs::send_message_batch_response const& answer)
{
    return batch(answer, [](sqs::sent_message const& one) { return sent(one); });
}

json::value as_recorded(sqs::batch_response<sqs::done_entry> const& answer)
{
    return batch(answer, [](sqs::done_entry const&) { return json::object(); });
}

json::value as_recorded(sqs::receive_message_response const& answer)
{
    json::object out;
    for (auto const& m : answer.messages) {
        if (!out.contains("Messages")) out["Messages"] = json::array();
        out["Messages"].as_array().push_back(message(m));
    }
    return with_status(out);
}

json::value as_recorded(sqs::attributes_response const& answer)
{
    json::object out;
    for (auto const& [name, value] : answer.attributes)
        out[name] = value;
    return with_status({{"Attributes", out}});
}

json::value as_recorded(sqs::task_handle_response const& answer)
{
    return with_status({{"TaskHandle", answer.task_handle}});
}

json::value as_recorded(sqs::moved_response const& answer)
{
    return with_status({{"ApproximateNumberOfMessagesMoved", answer.messages_moved}});
}

json::value as_recorded(sqs::list_message_move_tasks_response const& answer)
{
    json::array tasks;
    for (auto const& task : answer.tasks) {
        json::object out{{"Status", task.status}, {"SourceArn", task.source_arn},
            {"ApproximateNumberOfMessagesMoved", task.messages_moved},
            {"StartedTimestamp", std::to_string(task.started_at_ms)}};
        put(out, "TaskHandle", task.task_handle);
        put(out, "DestinationArn", task.destination_arn);
        put(out, "FailureReason", task.failure_reason);
        if (task.max_messages_per_second) out["MaxNumberOfMessagesPerSecond"] = *task.max_messages_per_second;
        if (task.messages_to_move) out["ApproximateNumberOfMessagesToMove"] = *task.messages_to_move;
        tasks.push_back(out);
    }
    return with_status({{"Results", tasks}});
}

void recording::match(std::string_view step, json::value actual, std::set<std::string> timing)
{
    auto const* expected = steps_.if_contains(step);
    BOOST_REQUIRE_MESSAGE(expected, "no such step: " << step);
    compared_.emplace(step);
    // Some recordings repeat the error's text beside it.
    if (auto const* object = expected->if_object(); object && object->contains("message")) {
        actual.as_object()["message"] = actual.at("Error").at("Message");
    }
    BOOST_TEST(same(*expected, actual, timing), step << ": expected " << *expected << ", got " << actual);
}

std::vector<std::string> recording::left() const
{
    std::vector<std::string> out;
    for (auto const& step : steps_) {
        if (!compared_.contains(std::string_view(step.key()))) out.emplace_back(step.key());
    }
    return out;
}

bool recording::same(json::value const& expected, json::value const& actual, std::set<std::string> const& timing)
{
    if (expected.is_object() && actual.is_string()) { // a body that is JSON was recorded as such
        boost::system::error_code ec;
        auto const parsed = json::parse(actual.as_string(), ec);
        return !ec && parsed == expected;
    }
    if (expected.kind() != actual.kind()) {
        return expected.is_number() && actual.is_number() &&
            expected.to_number<double>() == actual.to_number<double>();
    }
    if (expected.is_string()) return same_text(std::string(expected.as_string()), std::string(actual.as_string()));
    if (expected.is_array()) {
        auto const& left = expected.as_array();
        auto const& right = actual.as_array();
        if (left.size() != right.size()) return false;
        for (std::size_t i = 0; i != left.size(); ++i) {
            if (!same(left[i], right[i], timing)) return false;
        }
        return true;
    }
    if (!expected.is_object()) return expected == actual;
    if (expected.as_object().size() != actual.as_object().size()) return false;
    for (auto const& member : expected.as_object()) {
        auto const* other = actual.as_object().if_contains(member.key());
        if (!other) return false;
        if (!timing.contains(std::string(member.key())) && !same(member.value(), *other, timing)) return false;
    }
    return true;
}

bool recording::same_text(std::string const& expected, std::string const& actual)
{
    if (expected == "timestamp") return !actual.empty() && actual.find_first_not_of("0123456789") == actual.npos;
    if (expected.starts_with("arn:")) {
        return actual.starts_with("arn:aws:sqs:") && masks_.try_emplace(expected, actual).first->second == actual;
    }
    auto const from = expected.find('<');
    if (from == expected.npos || expected == actual) return expected == actual;
    // "… <mask> …": the text around it is literal.
    auto const to = expected.find('>', from);
    if (to == expected.npos || actual.size() < expected.size() - (to + 1 - from)) return false;
    auto const tail = expected.size() - (to + 1);
    if (actual.compare(0, from, expected, 0, from) != 0) return false;
    if (actual.compare(actual.size() - tail, tail, expected, to + 1, tail) != 0) return false;
    auto const masked = actual.substr(from, actual.size() - tail - from);
    return masks_.try_emplace(expected.substr(from, to + 1 - from), masked).first->second == masked;
}

} // namespace quern::test

BOOST_AUTO_TEST_SUITE(recorded)

BOOST_AUTO_TEST_CASE(every_recorded_step_is_answered_as_sqs_answered_it)
{
    using namespace quern::test;
    auto const file = conformance_json("08-recorded-sqs-traffic/localstack-snapshots.json");
    if (!file) return;

    auto scenarios = message_scenarios();
    scenarios.merge(queue_scenarios());
    scenarios.merge(fifo_scenarios());
    scenarios.merge(move_task_scenarios());
    std::size_t steps = 0;
    for (auto const& test : file->as_object()) {
        std::string const key(test.key());
        auto const name = key.substr(key.rfind("::") + 2);
        BOOST_TEST_CONTEXT(name)
        {
            auto const found = scenarios.find(name);
            BOOST_TEST(found != scenarios.end(), "no scenario");
            if (found == scenarios.end()) continue;
            service s;
            recording r(test.value().at("recorded-content").as_object());
            found->second(s, r);
            BOOST_TEST(r.left() == strings(), boost::test_tools::per_element());
            steps += test.value().at("recorded-content").as_object().size() - r.left().size();
        }
    }
    BOOST_TEST_MESSAGE(steps << " steps compared");
    BOOST_TEST(steps >= file->as_object().size());
}

BOOST_AUTO_TEST_SUITE_END()
