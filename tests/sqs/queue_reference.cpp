#include <quern/sqs/queue_reference.hpp>

#include <boost/test/unit_test.hpp>

using namespace quern;
using namespace quern::sqs;

BOOST_AUTO_TEST_SUITE(queue_reference)

BOOST_AUTO_TEST_CASE(an_arn_is_taken_apart)
{
    auto const a = queue_arn_in("arn:aws-cn:sqs:cn-north-1:123456789012:orders.fifo");
    BOOST_REQUIRE(a.has_value());
    BOOST_TEST(a->region == "cn-north-1");
    BOOST_TEST(a->account == "123456789012");
    BOOST_TEST(a->name == "orders.fifo");
}

BOOST_AUTO_TEST_CASE(what_is_no_arn_of_a_queue)
{
    for (auto const* const text : {"", "orders", "arn:aws:sqs:eu-west-1:1", "arn:aws:sns:eu-west-1:1:orders",
             "arn:aws:sqs::1:orders", "arn:aws:sqs:eu-west-1::orders", "arn:aws:sqs:eu-west-1:one:orders",
             "arn:aws:sqs:eu-west-1:1:", "arn:aws:sqs:eu-west-1:1:or ders", "arn:aws:sqs:eu-west-1:1:orders:x",
             "arn:aws:sqs:eu-west-1:1:a/b", "https://sqs.eu-west-1.amazonaws.com/1/orders"})
        BOOST_TEST(!queue_arn_in(text).has_value(), text);
}

BOOST_AUTO_TEST_CASE(the_name_and_a_neighbour_of_each)
{
    struct {
        char const *queue, *neighbour;
    } const rows[] = {
        {"orders", "dead"},
        {"arn:aws:sqs:eu-west-1:1:orders", "arn:aws:sqs:eu-west-1:1:dead"},
        {"http://localhost:9324/000000000000/orders", "http://localhost:9324/000000000000/dead"},
    };
    for (auto const& row : rows) {
        BOOST_TEST(queue_name_in(row.queue) == "orders");
        BOOST_TEST(sibling_of(row.queue, "dead") == row.neighbour);
        BOOST_TEST(!check_queue("--to", row.queue).has_value());
    }
    BOOST_TEST(is_queue_url(rows[2].queue));
    BOOST_TEST(!is_queue_url(rows[1].queue));
}

BOOST_AUTO_TEST_CASE(what_no_queue_is_called_is_refused_with_the_option)
{
    for (auto const* const text :
        {"", "or ders", "arn:aws:sqs:eu-west-1:orders", "sqs.eu-west-1.amazonaws.com/1/a"}) {
        auto const wrong = check_queue("--to", text);
        BOOST_REQUIRE(wrong.has_value());
        BOOST_TEST(wrong->code == make_error_code(errc::invalid_option));
        BOOST_TEST(describe(*wrong).find("--to is \"" + std::string(text) + '"') != std::string::npos);
    }
}

// A newline of $(cat file) gave NonExistentQueue, with an invisible difference.
BOOST_AUTO_TEST_CASE(a_url_with_something_that_nobody_sees_is_refused)
{
    for (auto const* const text :
        {" http://h/1/orders", "http://h/1/orders\n", "http://h/1/orders/", "http://h/1/a b"})
        BOOST_TEST(check_queue("--to", text).has_value(), text);
}

BOOST_AUTO_TEST_CASE(only_an_arn_can_be_of_another_region)
{
    auto const* const arn = "arn:aws:sqs:eu-west-1:1:orders";
    BOOST_TEST(check_region(arn, "us-east-1").has_value());
    BOOST_TEST(!check_region(arn, "eu-west-1").has_value());
    BOOST_TEST(!check_region(arn, "").has_value()); // not known
    BOOST_TEST(!check_region("orders", "us-east-1").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
