#include "service.hpp"

using namespace quern::test;
using boost::test_tools::per_element;

namespace {

quern::result<sqs::queue_url_response> try_create(service& s, std::string name, sqs::string_map attributes = {})
{
    sqs::create_queue_request request(std::move(name));
    request.attributes = std::move(attributes);
    return s.engine.create_queue(request, s.now);
}

} // namespace

BOOST_AUTO_TEST_SUITE(queues)

BOOST_AUTO_TEST_CASE(a_queue_has_a_url_and_an_arn)
{
    service s(
        broker::engine_options{.region = "eu-west-1", .account_id = "123456789012", .base_url = "http://host:1"});
    auto const url = s.create("q");
    BOOST_TEST(url == "http://host:1/123456789012/q");
    BOOST_TEST(s.arn(url) == "arn:aws:sqs:eu-west-1:123456789012:q");
    sqs::get_queue_url_request request("q");
    BOOST_TEST(s.engine.get_queue_url(request, s.now)->queue_url == url);
    request.owner_account_id = "999999999999";
    BOOST_TEST(
        s.engine.get_queue_url(request, s.now).error().service_code == "AWS.SimpleQueueService.NonExistentQueue");
}

BOOST_AUTO_TEST_CASE(of_a_url_the_account_and_the_name_count)
{
    service s;
    s.create("q");
    for (auto const* url : {"q", "/q", "https://sqs.eu-west-1.amazonaws.com/000000000000/q", "http://other:9/q",
             "http://other:9/queue/q"}) {
        BOOST_TEST(s.engine.send_message({url, "m"}, s.now).has_value(), url);
    }
    BOOST_TEST(s.engine.send_message({"http://h/123456789012/q", "m"}, s.now).error().service_code ==
        "AWS.SimpleQueueService.NonExistentQueue");
    auto const unknown = s.engine.send_message({"http://h/0/unknown", "m"}, s.now);
    BOOST_TEST(why(unknown) == "AWS.SimpleQueueService.NonExistentQueue: The specified queue does not exist.");
    BOOST_TEST(unknown.error().http_status == 400);
    BOOST_TEST(s.engine.send_message({"http://h/", "m"}, s.now).error().service_code == "InvalidAddress");
    BOOST_TEST(why(s.engine.send_message({"", "m"}, s.now)) ==
        "MissingParameter: The request must contain the parameter QueueUrl.");
}

BOOST_AUTO_TEST_CASE(creating_again_with_the_same_attributes_gives_the_same_queue)
{
    service s;
    auto const url = s.create("q", {{"ReceiveMessageWaitTimeSeconds", "1"}, {"DelaySeconds", "1"}});
    s.send(url, "m", 0);
    BOOST_TEST(s.create("q") == url);
    BOOST_TEST(s.create("q", {{"DelaySeconds", "1"}}) == url);
    BOOST_TEST(s.create("q", {{"VisibilityTimeout", "30"}}) == url);
    BOOST_TEST(why(try_create(s, "q", {{"DelaySeconds", "2"}})) ==
        "QueueAlreadyExists: A queue already exists with the same name and a different value for attribute "
        "DelaySeconds");
    s.set(url, {{"DelaySeconds", "2"}}).value();
    BOOST_TEST(s.create("q", {{"DelaySeconds", "2"}}) == url);
}

BOOST_AUTO_TEST_CASE(names_are_checked_by_type)
{
    service s;
    std::string const long_name(80, 'a');
    BOOST_TEST(try_create(s, long_name).has_value());
    sqs::string_map const fifo{{"FifoQueue", "true"}};
    BOOST_TEST(try_create(s, std::string(75, 'a') + ".fifo", fifo).has_value());
    for (auto const& name :
        {long_name + 'a', std::string("a b"), std::string("a/b"), std::string("a.fifo"), std::string(".fifo")}) {
        BOOST_TEST(try_create(s, name).error().service_code == "InvalidParameterValue", name);
    }
    for (auto const& name :
        {std::string("a"), std::string(76, 'a') + ".fifo", std::string(".fifo"), std::string("a.FIFO")}) {
        BOOST_TEST(try_create(s, name, fifo).error().service_code == "InvalidParameterValue", name);
    }
    BOOST_TEST(try_create(s, "").error().service_code == "MissingParameter");
}

BOOST_AUTO_TEST_CASE(a_name_is_free_again_a_minute_after_the_delete)
{
    service s;
    auto const url = s.create("q");
    s.send(url, "m");
    auto const handle = s.handle(url);
    BOOST_TEST(s.engine.delete_queue(sqs::delete_queue_request(url), s.now).has_value());
    BOOST_TEST(s.engine.delete_queue(sqs::delete_queue_request(url), s.now).error().service_code ==
        "AWS.SimpleQueueService.NonExistentQueue");
    s.pass(59s);
    BOOST_TEST(why(try_create(s, "q")) ==
        "AWS.SimpleQueueService.QueueDeletedRecently: You must wait 60 seconds after deleting a queue before you "
        "can create another with the same name.");
    s.pass(1s);
    BOOST_TEST(s.create("q") == url);
    BOOST_TEST(s.counts(url) == "0/0/0");
    BOOST_TEST(s.remove(url, handle).error().service_code == "ReceiptHandleIsInvalid"); // it is another queue
}

// A test suite that deletes and creates its queues for each test had to wait a minute between two.
BOOST_AUTO_TEST_CASE(names_and_purges_rest_as_long_as_the_options_say)
{
    broker::engine_options options;
    options.name_rest = options.purge_rest = 0s;
    service s(options);
    for (int i = 0; i != 3; ++i) {
        auto const url = s.create("q");
        s.engine.purge_queue({sqs::purge_queue_request(url)}, s.now).value();
        s.engine.purge_queue({sqs::purge_queue_request(url)}, s.now).value();
        s.engine.delete_queue({sqs::delete_queue_request(url)}, s.now).value();
    }
}

BOOST_AUTO_TEST_CASE(each_region_and_account_has_queues_of_its_own)
{
    service s;
    auto const list = [&] { return s.engine.list_queues({}, s.now)->queue_urls; };
    auto const url = s.create("q");
    s.send(url, "here");
    s.engine.set_caller({"eu-west-1", "", ""});
    BOOST_TEST(list().empty());
    BOOST_TEST(
        s.create("q", {{"DelaySeconds", "5"}}) == url); // the url has no region, the endpoint that it names has
    BOOST_TEST(s.arn(url) == "arn:aws:sqs:eu-west-1:000000000000:q");
    BOOST_TEST(s.counts(url) == "0/0/0");
    auto const redrive = [&](std::string_view arn) {
        return s.set(
            url, {{"RedrivePolicy", R"({"maxReceiveCount":1,"deadLetterTargetArn":")" + std::string(arn) + "\"}"}});
    };
    s.create("dead");
    BOOST_TEST(redrive("arn:aws:sqs:eu-west-1:000000000000:dead").has_value());
    BOOST_TEST(redrive("arn:aws:sqs:us-east-1:000000000000:q").error().service_code == "InvalidParameterValue");
    s.engine.delete_queue({sqs::delete_queue_request(url)}, s.now).value();

    s.engine.set_caller({"", "123456789012", ""});
    BOOST_TEST(list().empty());
    auto const other = s.create("q");
    BOOST_TEST(other == "http://127.0.0.1:9324/123456789012/q");
    BOOST_TEST(s.counts(other) == "0/0/0");
    BOOST_TEST(s.counts(url) == "1/0/0"); // a url names its account
    sqs::get_queue_url_request request("q");
    request.owner_account_id = "000000000000";
    BOOST_TEST(s.engine.get_queue_url(request, s.now)->queue_url == url);

    s.engine.set_caller({});
    BOOST_TEST(list() == strings({url}), per_element());
}

BOOST_AUTO_TEST_CASE(queues_are_listed_by_name_prefix_and_page)
{
    service s;
    std::vector<std::string> urls;
    for (auto const* name : {"a1", "a2", "a3", "b1"})
        urls.push_back(s.create(name));
    sqs::list_queues_request request;
    BOOST_TEST(s.engine.list_queues(request, s.now)->queue_urls == urls, per_element());
    request.name_prefix = "a";
    request.max_results = 2;
    auto page = s.engine.list_queues(request, s.now).value();
    BOOST_TEST(page.queue_urls == strings({urls[0], urls[1]}), per_element());
    BOOST_REQUIRE(!page.next_token.empty());
    request.next_token = page.next_token;
    page = s.engine.list_queues(request, s.now).value();
    BOOST_TEST(page.queue_urls == strings({urls[2]}), per_element());
    BOOST_TEST(page.next_token.empty());

    request.next_token = "no name";
    BOOST_TEST(s.engine.list_queues(request, s.now).error().service_code == "InvalidParameterValue");
    request.next_token.reset();
    for (int const most : {0, 1001}) {
        request.max_results = most;
        BOOST_TEST(s.engine.list_queues(request, s.now).error().service_code == "InvalidParameterValue");
    }
}

BOOST_AUTO_TEST_CASE(a_purge_takes_messages_in_every_state_and_only_once_a_minute)
{
    service s;
    auto const url = s.create("q");
    s.send(url, "in flight");
    auto const handle = s.handle(url);
    s.send(url, "visible");
    s.send(url, "delayed", 10);
    sqs::purge_queue_request const request(url);
    BOOST_TEST(s.engine.purge_queue(request, s.now).has_value());
    BOOST_TEST(s.counts(url) == "0/0/0");
    BOOST_TEST(s.remove(url, handle).has_value());
    BOOST_TEST(!s.engine.next_event().has_value());
    s.send(url, "new");
    s.pass(59s);
    BOOST_TEST(why(s.engine.purge_queue(request, s.now)) ==
        "AWS.SimpleQueueService.PurgeQueueInProgress: Only one PurgeQueue operation on q is allowed every 60 "
        "seconds.");
    s.pass(1s);
    BOOST_TEST(s.bodies(url, 10, 0) == strings({"new"}), per_element());
    BOOST_TEST(s.engine.purge_queue(request, s.now).has_value());
    BOOST_TEST(s.bodies(url).empty());
}

BOOST_AUTO_TEST_CASE(tags_are_added_replaced_and_removed)
{
    service s;
    sqs::create_queue_request create("q");
    create.tags = {{"a", "1"}, {"b", ""}};
    auto const url = s.engine.create_queue(create, s.now)->queue_url;
    auto const tags = [&] { return s.engine.list_queue_tags(sqs::list_queue_tags_request(url), s.now).value().tags; };
    BOOST_TEST(tags() == (sqs::string_map{{"a", "1"}, {"b", ""}}));
    s.engine.tag_queue({url, {{"a", "2"}, {"A", "3"}}}, s.now).value();
    s.engine.untag_queue({url, {"b", "unknown"}}, s.now).value();
    BOOST_TEST(tags() == (sqs::string_map{{"A", "3"}, {"a", "2"}}));

    sqs::string_map many;
    for (int i = 0; i != 49; ++i)
        many["t" + std::to_string(i)] = "";
    BOOST_TEST(s.engine.tag_queue({url, many}, s.now).error().service_code == "InvalidParameterValue");
    BOOST_TEST(tags().size() == 2u);
    BOOST_TEST(s.engine.tag_queue({url, {{"aws:x", ""}}}, s.now).error().service_code == "InvalidParameterValue");
    BOOST_TEST(s.engine.tag_queue({url, {}}, s.now).error().service_code == "MissingParameter");
}

BOOST_AUTO_TEST_CASE(the_lengths_of_tags_count_characters)
{
    service s;
    auto const url = s.create("q");
    auto const times = [](int count, std::string_view character) {
        std::string out;
        while (count-- != 0)
            out += character;
        return out;
    };
    auto const tagged = [&](std::string key, std::string value) {
        return s.engine.tag_queue({url, {{std::move(key), std::move(value)}}}, s.now).has_value();
    };
    BOOST_TEST(tagged(times(128, "\u00e4"), times(256, "\u20ac")));
    BOOST_TEST(!tagged(times(129, "\u00e4"), ""));
    BOOST_TEST(!tagged("a", times(257, "\u20ac")));
    BOOST_TEST(!tagged("", "a"));
}

// A look by url, or by name, was at the queue of the broker's own region.
BOOST_AUTO_TEST_CASE(a_name_or_a_url_of_queues_in_several_regions_is_refused_where_no_region_is_said)
{
    service s(broker::engine_options{.region = "us-east-1"});
    auto const in = [&](std::string region, std::string account, std::string name) {
        s.engine.set_caller({std::move(region), std::move(account), ""});
        return s.create(std::move(name));
    };
    auto const found = [&](std::string_view named) {
        auto const got = s.engine.find_queue(named, s.now);
        return got ? got->arn : got.error().service_code;
    };
    auto const url = in("us-east-1", "", "q");
    in("eu-west-1", "", "q");
    auto const abroad = in("eu-west-1", "", "abroad");
    auto const of_other = in("us-east-1", "111111111111", "shared");
    in("us-east-1", "222222222222", "shared");
    s.engine.set_caller({});

    BOOST_TEST(found("q") == "InvalidParameterValue");
    BOOST_TEST(found(url) == "InvalidParameterValue");
    BOOST_TEST(why(s.engine.look_at_messages(url, 1, s.now)) ==
        "InvalidParameterValue: \"" + url +
            "\" may be 2 queues, arn:aws:sqs:eu-west-1:000000000000:q and arn:aws:sqs:us-east-1:000000000000:q: give "
            "the ARN.");
    BOOST_TEST(found("arn:aws:sqs:eu-west-1:000000000000:q") == "arn:aws:sqs:eu-west-1:000000000000:q");
    BOOST_TEST(found("https://sqs.eu-west-1.amazonaws.com/000000000000/q") == "arn:aws:sqs:eu-west-1:000000000000:q");
    BOOST_TEST(found("https://sqs.eu-west-1.amazonaws.com/000000000000/shared") ==
        "AWS.SimpleQueueService.NonExistentQueue");
    BOOST_TEST(found("abroad") == "arn:aws:sqs:eu-west-1:000000000000:abroad");
    BOOST_TEST(found(abroad) == "arn:aws:sqs:eu-west-1:000000000000:abroad");
    BOOST_TEST(found("shared") == "InvalidParameterValue");
    BOOST_TEST(found(of_other) == "arn:aws:sqs:us-east-1:111111111111:shared");
    for (auto const* none :
        {"", "absent", "arn:aws:sqs:eu-west-1:000000000000:absent", "http://h/000000000000/absent"})
        BOOST_TEST(found(none) == "AWS.SimpleQueueService.NonExistentQueue", none);
}

BOOST_AUTO_TEST_CASE(arns_are_in_the_partition_of_their_region)
{
    service s(broker::engine_options{.region = "cn-north-1"});
    BOOST_TEST(s.arn(s.create("q")) == "arn:aws-cn:sqs:cn-north-1:000000000000:q");
    auto const [source, dead] = s.create_pair("pair", 1);
    s.send(source, "m");
    s.receive(source, 1, 0);
    s.receive(source);
    BOOST_TEST(s.counts(dead) == "1/0/0");
    auto const in = [&](std::string region) {
        s.engine.set_caller({std::move(region), "", ""});
        return s.arn(s.create("q"));
    };
    BOOST_TEST(in("us-gov-west-1") == "arn:aws-us-gov:sqs:us-gov-west-1:000000000000:q");
    BOOST_TEST(in("us-isob-east-1") == "arn:aws-iso-b:sqs:us-isob-east-1:000000000000:q");
    BOOST_TEST(in("eu-west-1") == "arn:aws:sqs:eu-west-1:000000000000:q");
}

BOOST_AUTO_TEST_SUITE_END()
