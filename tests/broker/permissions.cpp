#include "service.hpp"

#include <boost/json.hpp>

using namespace quern::test;

BOOST_AUTO_TEST_SUITE(permissions)

namespace {

struct permitted : service {
    std::string url = create("q");
    std::string arn_ = arn(url);

    quern::result<sqs::empty_response> add(std::string label, strings accounts, strings actions)
    {
        return engine.add_permission({url, std::move(label), std::move(accounts), std::move(actions)}, now);
    }
    quern::result<sqs::empty_response> take(std::string label)
    {
        return engine.remove_permission({url, std::move(label)}, now);
    }
    boost::json::value policy() { return boost::json::parse(attributes(url).at("Policy")); }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_permission_is_a_statement_of_the_policy)
{
    permitted s;
    BOOST_TEST(s.add("two", {"111111111111", "668614515564"}, {"ReceiveMessage"}).has_value());
    BOOST_TEST(s.add("one", {"111111111111"}, {"SendMessage", "*"}).has_value());
    boost::json::value const expected{{"Version", "2008-10-17"}, {"Id", s.arn_ + "/SQSDefaultPolicy"},
        {"Statement",
            {{{"Sid", "two"}, {"Effect", "Allow"},
                 {"Principal", {{"AWS", {"arn:aws:iam::111111111111:root", "arn:aws:iam::668614515564:root"}}}},
                 {"Action", "SQS:ReceiveMessage"}, {"Resource", s.arn_}},
                {{"Sid", "one"}, {"Effect", "Allow"}, {"Principal", {{"AWS", "arn:aws:iam::111111111111:root"}}},
                    {"Action", {"SQS:SendMessage", "SQS:*"}}, {"Resource", s.arn_}}}}};
    BOOST_TEST(s.policy() == expected);

    BOOST_TEST(s.take("two").has_value());
    BOOST_TEST(s.policy().at("Statement").as_array().size() == 1u);
    BOOST_TEST(s.take("one").has_value());
    BOOST_TEST(!s.attributes(s.url).contains("Policy"));
}

BOOST_AUTO_TEST_CASE(labels_and_actions_are_checked)
{
    permitted s;
    BOOST_TEST(s.add("label", {"111111111111"}, {"SendMessage"}).has_value());
    BOOST_TEST(why(s.add("label", {"111111111111"}, {"SendMessage"})) ==
        "InvalidParameterValue: Value label for parameter Label is invalid. Reason: Already exists.");
    BOOST_TEST(why(s.take("other")) ==
        "InvalidParameterValue: Value other for parameter Label is invalid. Reason: can't find label.");
    BOOST_TEST(s.add("x", {"111111111111"}, {"Fly"}).error().service_code == "InvalidParameterValue");
    BOOST_TEST(s.add("x y", {"111111111111"}, {"*"}).error().service_code == "InvalidParameterValue");
    BOOST_TEST(s.add("x", {"1"}, strings(8, "*")).error().service_code == "OverLimit");
    BOOST_TEST(s.add("", {"1"}, {"*"}).error().service_code == "MissingParameter");
    BOOST_TEST(s.add("x", {}, {"*"}).error().service_code == "MissingParameter");
    BOOST_TEST(s.add("x", {"1"}, {}).error().service_code == "MissingParameter");
}

BOOST_AUTO_TEST_CASE(a_policy_of_ones_own_is_added_to)
{
    permitted s;
    s.set(s.url, {{"Policy", R"({"Version":"2012-10-17","Statement":{"Sid":"mine","Effect":"Deny"}})"}}).value();
    BOOST_TEST(s.add("label", {"111111111111"}, {"SendMessage"}).has_value());
    BOOST_TEST(s.policy().at("Version") == "2012-10-17");
    BOOST_TEST(s.policy().at("Statement").as_array().size() == 2u);
    BOOST_TEST(s.take("mine").has_value());
    BOOST_TEST(s.policy().at("Statement").at(0).at("Sid") == "label");
}

BOOST_AUTO_TEST_CASE(a_policy_stops_growing_at_8192_bytes)
{
    permitted s;
    std::string refused;
    for (int i = 0; i != 100 && refused.empty(); ++i) {
        auto const added = s.add("label" + std::to_string(i), {"111111111111"}, {"SendMessage"});
        if (!added) refused = added.error().service_code;
    }
    BOOST_TEST(refused == "OverLimit");
    BOOST_TEST(s.attributes(s.url).at("Policy").size() <= 8192u);
}

BOOST_AUTO_TEST_SUITE_END()
