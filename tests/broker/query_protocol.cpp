#include <quern/broker/detail/query_form.hpp>
#include <quern/broker/detail/wire_encode.hpp>

#include <boost/test/unit_test.hpp>

using namespace quern;
using namespace quern::broker;
using namespace quern::broker::detail;
using namespace quern::net::detail;

namespace {

http_request form(std::string body, std::string target = "/")
{
    http_request out;
    out.method = "POST";
    out.target = std::move(target);
    out.fields.add("Content-Type", "application/x-www-form-urlencoded; charset=utf-8");
    out.body = std::move(body);
    return out;
}

std::string json_of(std::string body, std::string target = "/")
{
    auto const read = read_query_call(form(std::move(body), std::move(target)));
    return read ? read->json : read.error().service_code;
}

template <class Response>
std::string xml_of(std::string_view action, Response const& response)
{
    std::string out;
    encode({action, "id", true}, response, out);
    std::string const begin = "<?xml version=\"1.0\"?><" + std::string(action) +
        "Response xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\">";
    std::string const end =
        "<ResponseMetadata><RequestId>id</RequestId></ResponseMetadata></" + std::string(action) + "Response>";
    BOOST_REQUIRE(out.starts_with(begin));
    BOOST_REQUIRE(out.ends_with(end));
    return out.substr(begin.size(), out.size() - begin.size() - end.size());
}

} // namespace

BOOST_AUTO_TEST_SUITE(query_protocol)

BOOST_AUTO_TEST_CASE(parameters_are_decoded_and_numbers_are_numbers)
{
    BOOST_TEST(json_of("Action=SendMessage&QueueUrl=http%3A%2F%2Fh%2Fq&MessageBody=a+b%2Bc%22&DelaySeconds=5") ==
        R"({"Action":"SendMessage","QueueUrl":"http://h/q","MessageBody":"a b+c\"","DelaySeconds":5})");
    BOOST_TEST(
        json_of("WaitTimeSeconds=x&VisibilityTimeout=") == R"({"WaitTimeSeconds":"x","VisibilityTimeout":""})");
    BOOST_TEST(json_of("") == "{}");
    BOOST_TEST(json_of("&&=&a&b=") == R"({"":"","a":"","b":""})");
}

BOOST_AUTO_TEST_CASE(lists_and_maps_are_flat_and_in_the_order_of_their_numbers)
{
    BOOST_TEST(
        json_of("AttributeName.10=c&AttributeName.2=b&AttributeName.1=a") == R"({"AttributeNames":["a","b","c"]})");
    BOOST_TEST(json_of("Attribute.1.Name=DelaySeconds&Attribute.1.Value=5&Tag.1.Key=k&Tag.1.Value=v") ==
        R"({"Tags":{"k":"v"},"Attributes":{"DelaySeconds":"5"}})");
    BOOST_TEST(
        json_of("Action=CreateQueue&Tag.1.Key=k&Tag.1.Value=v") == R"({"tags":{"k":"v"},"Action":"CreateQueue"})");
    BOOST_TEST(json_of("MessageAttribute.1.Name=n&MessageAttribute.1.Value.DataType=String"
                       "&MessageAttribute.1.Value.StringValue=v") ==
        R"({"MessageAttributes":{"n":{"DataType":"String","StringValue":"v"}}})");
    BOOST_TEST(json_of("Attribute.Name=VisibilityTimeout&Attribute.Value=35&Tag.Key=k&Tag.Value=v") ==
        R"({"Tags":{"k":"v"},"Attributes":{"VisibilityTimeout":"35"}})"); // a single one has no position
    BOOST_TEST(json_of("MessageAttribute.Name=n&MessageAttribute.Value.DataType=String") ==
        R"({"MessageAttributes":{"n":{"DataType":"String"}}})");
    BOOST_TEST(json_of("Entries=&Attributes=") == R"({"Entries":[],"Attributes":{}})"); // empty ones
    BOOST_TEST(
        json_of("SendMessageBatchRequestEntry.1.Id=1&SendMessageBatchRequestEntry.1.DelaySeconds=3"
                "&SendMessageBatchRequestEntry.2.Id=2") == R"({"Entries":[{"Id":"1","DelaySeconds":3},{"Id":"2"}]})");
}

BOOST_AUTO_TEST_CASE(the_path_names_the_queue_when_nothing_else_does)
{
    BOOST_TEST(json_of("", "/000000000000/q") == R"({"QueueUrl":"/000000000000/q"})");
    BOOST_TEST(json_of("QueueUrl=x", "/000000000000/q") == R"({"QueueUrl":"x"})");
}

BOOST_AUTO_TEST_CASE(too_many_parameters_and_parts_are_refused)
{
    std::string many;
    for (int i = 0; i != 2001; ++i)
        many += "a=b&";
    BOOST_TEST(json_of(many) == "MalformedInput");
    BOOST_TEST(json_of("a.b.c.d.e.f.g.h.i.j.k=1") == "MalformedInput");
}

BOOST_AUTO_TEST_CASE(the_action_is_found_without_reading_the_rest)
{
    BOOST_TEST(action_of(form("a=b&Action=Send%4Dessage&c=%")) == "SendMessage");
    BOOST_TEST(action_of(form("XAction=a&Actions=b")).empty());
    BOOST_TEST(action_of(form("Action=a", "/?Action=b")) == "a"); // as the reader has it: the last one
    BOOST_TEST(action_of(form("Action=" + std::string(1'000'000, 'x'))).size() < 1000u);
}

BOOST_AUTO_TEST_CASE(a_posted_form_and_a_get_with_an_action_are_calls)
{
    BOOST_TEST(is_query_call(form("")));
    http_request get;
    get.method = "GET";
    for (auto const* target : {"/?Action=ListQueues", "/a/q?Version=1&Action=ListQueues"}) {
        get.target = target;
        BOOST_TEST(is_query_call(get));
        BOOST_TEST(read_query_call(get)->action == "ListQueues");
    }
    for (auto const* target : {"/health", "/?NoAction=x", "/Action=x"}) {
        get.target = target;
        BOOST_TEST(!is_query_call(get));
    }
    http_request json;
    json.method = "POST";
    json.fields.add("Content-Type", "application/x-amz-json-1.0");
    BOOST_TEST(!is_query_call(json));
}

BOOST_AUTO_TEST_CASE(answers_stand_in_an_envelope_and_text_is_escaped)
{
    BOOST_TEST(xml_of("DeleteQueue", sqs::empty_response()) == "");
    BOOST_TEST(xml_of("GetQueueUrl", sqs::queue_url_response{"http://h/?a&<b>\r\n\""}) ==
        "<GetQueueUrlResult><QueueUrl>http://h/?a&amp;&lt;b&gt;&#xD;\n&quot;</QueueUrl></GetQueueUrlResult>");
    sqs::send_message_batch_response sent;
    sent.successful.emplace_back();
    sent.successful[0].id = "1";
    sent.successful[0].message_id = "m";
    sent.successful[0].md5_of_body = "d";
    sent.failed.push_back({"2", "Code", "why", true});
    BOOST_TEST(xml_of("SendMessageBatch", sent) ==
        "<SendMessageBatchResult><SendMessageBatchResultEntry><Id>1</Id><MessageId>m</MessageId>"
        "<MD5OfMessageBody>d</MD5OfMessageBody></SendMessageBatchResultEntry><BatchResultErrorEntry><Id>2</Id>"
        "<SenderFault>true</SenderFault><Code>Code</Code><Message>why</Message></BatchResultErrorEntry>"
        "</SendMessageBatchResult>");
    sqs::receive_message_response got;
    got.messages.resize(1);
    got.messages[0].id = "m";
    got.messages[0].body = "b";
    got.messages[0].system_attributes.push_back({"SentTimestamp", "1"});
    got.messages[0].attributes.push_back({"n", "Binary", "\x01"});
    BOOST_TEST(xml_of("ReceiveMessage", got) ==
        "<ReceiveMessageResult><Message><MessageId>m</MessageId><ReceiptHandle></ReceiptHandle><MD5OfBody></"
        "MD5OfBody>"
        "<Body>b</Body><Attribute><Name>SentTimestamp</Name><Value>1</Value></Attribute><MessageAttribute>"
        "<Name>n</Name><Value><BinaryValue>AQ==</BinaryValue><DataType>Binary</DataType></Value></MessageAttribute>"
        "</Message></ReceiveMessageResult>");
    // What no XML can have, and the first and last that it can.
    BOOST_TEST(xml_of("GetQueueUrl",
                   sqs::queue_url_response{std::string("\0\x1F\t \xEF\xBF\xBE\xEF\xBF\xBF\xEF\xBF\xBD", 13)}) ==
        "<GetQueueUrlResult><QueueUrl>\uFFFD\uFFFD\t \uFFFD\uFFFD\uFFFD</QueueUrl></GetQueueUrlResult>");
    BOOST_TEST(xml_of("ListQueueTags", sqs::tags_response{{{"k", "v"}}}) ==
        "<ListQueueTagsResult><Tag><Key>k</Key><Value>v</Value></Tag></ListQueueTagsResult>");
    std::string error;
    encode_xml_error("Sender", "Code", "why", "id", error);
    BOOST_TEST(error ==
        "<?xml version=\"1.0\"?><ErrorResponse xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\"><Error>"
        "<Type>Sender</Type><Code>Code</Code><Message>why</Message><Detail/></Error><RequestId>id</RequestId>"
        "</ErrorResponse>");
}

BOOST_AUTO_TEST_SUITE_END()
