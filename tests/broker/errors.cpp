#include "service.hpp"

#include <quern/broker/detail/errors.hpp>

#include <support/conformance.hpp>

#include <set>

using namespace quern::test;
using namespace quern::broker::detail;
using broker::detail::error;

BOOST_AUTO_TEST_SUITE(errors)

BOOST_AUTO_TEST_CASE(a_failure_carries_the_shape_and_is_found_again_by_its_code)
{
    auto const why = fail(error::queue_does_not_exist, "The specified queue does not exist.");
    BOOST_TEST(why.code == quern::errc::service_error);
    BOOST_TEST(why.service_code == "AWS.SimpleQueueService.NonExistentQueue");
    BOOST_TEST(why.http_status == 400);
    BOOST_TEST(why.sender_fault);
    BOOST_TEST(!why.retryable);
    auto const* shape = find_error(why.service_code);
    BOOST_REQUIRE(shape);
    BOOST_TEST(shape->json_type() == "com.amazonaws.sqs#QueueDoesNotExist");
    BOOST_TEST(shape->name == "QueueDoesNotExist");
    BOOST_TEST(!find_error("Unknown"));
}

BOOST_AUTO_TEST_CASE(throttling_and_the_services_own_faults_may_be_retried)
{
    BOOST_TEST(fail(error::request_throttled, "").code == quern::errc::throttled);
    BOOST_TEST(fail(error::request_throttled, "").retryable);
    BOOST_TEST(fail(error::internal_failure, "").retryable);
    BOOST_TEST(!fail(error::internal_failure, "").sender_fault);
    BOOST_TEST(!fail(error::over_limit, "").retryable);
}

BOOST_AUTO_TEST_CASE(a_name_that_a_caller_sent_is_repeated_as_printable_ascii)
{
    BOOST_TEST(brief("ListQueues") == "ListQueues");
    BOOST_TEST(brief("\x1b]0;owned\x07\xC2\x9b\xff\x7f ~") == "?]0;owned????? ~");
    BOOST_TEST(brief(std::string(100, 'x')) == std::string(80, 'x') + "...");
}

BOOST_AUTO_TEST_CASE(query_codes_are_distinct)
{
    std::set<std::string_view> codes;
    for (int i = 0; i <= static_cast<int>(error::unrecognized_client); ++i) {
        BOOST_TEST(codes.insert(shape_of(static_cast<error>(i)).query_code).second);
    }
}

BOOST_AUTO_TEST_CASE(every_error_of_the_service_model_has_its_status_and_code)
{
    auto const model = conformance_json("05-sqs-model/sqs-smithy.json");
    if (!model) return;
    std::size_t compared = 0;
    for (auto const& entry : model->at("shapes").as_object()) {
        auto const& traits = entry.value().as_object().if_contains("traits");
        if (!traits || !traits->as_object().contains("smithy.api#error")) continue;
        std::string const type(entry.key());
        auto const name = type.substr(type.find('#') + 1);
        auto const* query = traits->as_object().if_contains("aws.protocols#awsQueryError");
        auto const code = query ? std::string(query->at("code").as_string()) : name;
        auto const* status = query ? query->as_object().if_contains("httpResponseCode") : nullptr;
        if (!status) status = traits->as_object().if_contains("smithy.api#httpError");

        auto const* shape = find_error(code);
        BOOST_TEST_CONTEXT(type)
        {
            BOOST_REQUIRE(shape);
            BOOST_TEST(shape->json_type() == type);
            if (status) BOOST_TEST(shape->http_status == status->as_int64());
        }
        ++compared;
    }
    BOOST_TEST(compared == 28u);
}

BOOST_AUTO_TEST_SUITE_END()
