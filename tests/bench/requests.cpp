#include <reply.hpp>
#include <request.hpp>

#include <quern/sqs/detail/md5.hpp>

#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>

namespace json = boost::json;

namespace {

struct padded {
    explicit padded(std::string text) : size(text.size()), bytes(std::move(text))
    {
        bytes.append(simdjson::SIMDJSON_PADDING, ' ');
    }
    operator std::string_view() const { return std::string_view(bytes).substr(0, size); }

    std::size_t size;
    std::string bytes;
};

} // namespace

BOOST_AUTO_TEST_SUITE(requests)

BOOST_AUTO_TEST_CASE(a_head_is_read_once_it_is_there_and_in_any_letters)
{
    std::string const text = "POST / HTTP/1.1\r\nhost: here:1\r\nX-AMZ-TARGET:  AmazonSQS.DeleteMessage \r\n"
                             "content-LENGTH: 12\r\nConnection: close\r\n\r\n";
    BOOST_TEST(!yardstick::read_head(text.substr(0, text.size() - 1)));
    auto const whole = text + "{\"a\"";
    auto const head = yardstick::read_head(whole).value();
    BOOST_TEST(head.understood);
    BOOST_TEST(head.method == "POST");
    BOOST_TEST(head.target == "/");
    BOOST_TEST(head.host == "here:1");
    BOOST_TEST(head.action == "DeleteMessage");
    BOOST_TEST(head.head == text.size());
    BOOST_TEST(head.body == 12u);
    BOOST_TEST(head.close);
    BOOST_TEST(!yardstick::read_head("nonsense\r\n\r\n").value().understood);
    BOOST_TEST(!yardstick::read_head("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n").value().understood);
}

BOOST_AUTO_TEST_CASE(members_come_in_any_order_and_leave_nothing_for_the_next_request)
{
    yardstick::call_reader reader;
    padded const receive(R"({"WaitTimeSeconds":20,"MessageSystemAttributeNames":["All"],"QueueUrl":"q",)"
                         R"("MaxNumberOfMessages":10,"VisibilityTimeout":7,"Odd":{"a":[1]}})");
    auto const& first = reader.read(receive);
    BOOST_TEST(first.understood);
    BOOST_TEST(first.max == 10);
    BOOST_TEST(first.wait.value() == 20);
    BOOST_TEST(first.visibility.value() == 7);
    BOOST_TEST(first.attributes.size() == 1u);

    padded const change(R"({"Entries":[{"ReceiptHandle":"h","VisibilityTimeout":0,"Id":"b"},{"Id":"c"}]})");
    auto const& second = reader.read(change);
    BOOST_TEST(second.max == 1);
    BOOST_TEST(!second.wait);
    BOOST_TEST(second.entries.size() == 2u);
    BOOST_TEST(second.entries[0].id == "b");
    BOOST_TEST(second.entries[0].handle == "h");
    BOOST_TEST(second.entries[0].visibility.value() == 0);

    padded const single(R"({"ReceiptHandle":"h","VisibilityTimeout":5})");
    BOOST_TEST(reader.read(single).entries.at(0).visibility.value() == 5);
    BOOST_TEST(!reader.read(padded("{\"Entries\":7}")).understood);
}

BOOST_AUTO_TEST_CASE(a_handle_is_read_as_it_was_written_and_nothing_else_is)
{
    yardstick::receipt_handles handles;
    std::string text(handles.write({.number = 123'456'789'012, .slot = 77, .receives = 3}));
    auto const read = handles.read(text).value();
    BOOST_TEST(read.number == 123'456'789'012u);
    BOOST_TEST(read.slot == 77u);
    BOOST_TEST(read.receives == 3);
    BOOST_TEST(!handles.read(text.substr(1)));
    for (std::size_t const at : {0u, 20u, 33u, 41u, 100u, 411u}) {
        auto wrong = text;
        wrong[at] = '?';
        BOOST_TEST(!handles.read(wrong));
    }
}

BOOST_AUTO_TEST_CASE(an_answer_is_json_with_what_was_asked_for)
{
    for (std::size_t const size : {64u, 256u, 4096u}) {
        yardstick::renderer renderer({.body = size, .groups = 1});
        std::vector<yardstick::handed> const two = {
            {{.number = 5, .slot = 0, .receives = 1}, 1'700'000'000'123'456, 1'700'000'000'200'000, 0},
            {{.number = 6, .slot = 1, .receives = 12}, 0, 1'700'000'000'300'000, 0}};
        std::string out;
        renderer.messages(two, yardstick::wanted::of({"ApproximateReceiveCount", "MessageGroupId"}), out);
        auto const messages = json::parse(out).at("Messages").as_array();
        BOOST_TEST(messages.size() == 2u);
        std::string const body(messages[0].at("Body").as_string());
        BOOST_TEST(body.size() == size);
        BOOST_TEST(body.starts_with("1700000000123456 000000000005 xx"));
        BOOST_TEST(messages[0].at("MD5OfBody").as_string() == quern::sqs::detail::md5_of_body(body));
        BOOST_TEST(messages[1].at("Body").as_string().starts_with("0000000000000000 000000000006 "));
        BOOST_TEST(messages[1].at("Attributes").at("ApproximateReceiveCount").as_string() == "12");
        BOOST_TEST(messages[1].at("Attributes").at("MessageGroupId").as_string() == "group-0");
        BOOST_TEST(messages[0].at("MessageId").as_string() != messages[1].at("MessageId").as_string());

        out.clear();
        renderer.messages(two, {}, out);
        BOOST_TEST(!json::parse(out).at("Messages").at(0).as_object().contains("Attributes"));
    }
}

BOOST_AUTO_TEST_CASE(bodies_of_json_are_escaped_in_an_answer_and_digested_without)
{
    yardstick::renderer renderer({.body = 1'024, .json = true});
    std::vector<yardstick::handed> const one = {
        {{.number = 5, .slot = 0, .receives = 1}, 0, 1'700'000'000'200'000, 0}};
    std::string out;
    renderer.messages(one, {}, out);
    auto const message = json::parse(out).at("Messages").at(0);
    std::string const body(message.at("Body").as_string());
    BOOST_TEST(body.size() == 1'024u);
    auto const quotes = std::ranges::count(body, '"');
    BOOST_TEST(quotes > 150);
    BOOST_TEST(out.size() > 1'024u + static_cast<std::size_t>(quotes));
    BOOST_TEST(message.at("MD5OfBody").as_string() == quern::sqs::detail::md5_of_body(body));
}

BOOST_AUTO_TEST_CASE(a_reply_says_how_long_it_is)
{
    yardstick::reply reply;
    reply.reserve() += "{\"a\":1}";
    std::string const first(reply.seal(200, 0));
    BOOST_TEST(first.starts_with("HTTP/1.1 200 OK\r\n"));
    BOOST_TEST(first.find("\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n") != first.npos);
    BOOST_TEST(first.ends_with("\r\nContent-Length: 7\r\n\r\n{\"a\":1}"));
    reply.reserve() += "{}";
    BOOST_TEST(reply.seal(400, 0).ends_with("\r\nContent-Length: 2\r\n\r\n{}"));
}

BOOST_AUTO_TEST_SUITE_END()
