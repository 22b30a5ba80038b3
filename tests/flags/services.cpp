#include <quern/flags/app_config.hpp>
#include <quern/flags/detail/pointed_at.hpp>
#include <quern/flags/dynamodb.hpp>
#include <quern/flags/ssm.hpp>
#include <quern/policy/detail/flag_rule.hpp>
#include <quern/sim/virtual_clock.hpp>

#include "support/fake_app_config.hpp"
#include "support/fake_dynamodb.hpp"
#include "support/fake_ssm.hpp"

#include <boost/test/unit_test.hpp>

using namespace quern;
using namespace quern::test;
using namespace quern::flags::detail;
using namespace std::chrono_literals;

namespace asio = boost::asio;

namespace {

template <class Options>
Options options_for(std::string url)
{
    Options out;
    out.where.url = std::move(url);
    out.where.region = "us-east-1";
    out.credentials = aws::static_credentials({"AKIDEXAMPLE", "secret", ""});
    out.retries.max_attempts = 1;
    return out;
}

template <class Source>
result<policy::flag_reading> reading_of(asio::io_context& io, Source const& flag)
{
    return run(io, flag->read());
}

struct parameters {
    asio::io_context io;
    fake_ssm service{io};
    std::shared_ptr<services::ssm> client =
        std::make_shared<services::ssm>(io.get_executor(), options_for<aws::client_options>(service.url()));
};

struct table {
    asio::io_context io;
    fake_dynamodb service{io};
    std::shared_ptr<services::dynamodb> client = std::make_shared<services::dynamodb>(
        io.get_executor(), options_for<services::dynamodb_options>(service.url()));

    table() { service.tables.add("seen"); }

    void put(std::string id, std::string name, services::attribute value)
    {
        services::item what{{"id", services::attribute::text(std::move(id))}, {std::move(name), std::move(value)}};
        run(io, client->put_item({"seen", std::move(what)})).value();
    }
    result<policy::flag_reading> read(flags::flag_item where)
    {
        return reading_of(io, flags::in_table(client, where));
    }
};

struct deployed {
    sim::virtual_clock time;
    asio::io_context io;
    fake_app_config service{io, time};
    std::shared_ptr<services::app_config> client =
        std::make_shared<services::app_config>(io.get_executor(), options_for<aws::client_options>(service.url()));
    std::shared_ptr<policy::flag_source> flag = of("");

    deployed() { service.deploy("shop/prod/flags", "open"); }

    std::shared_ptr<policy::flag_source> of(std::string pointer)
    {
        services::configuration_name what("shop", "prod", "flags");
        return flags::in_app_config(client, std::move(what), std::move(pointer), 15s, time);
    }
    result<policy::flag_reading> read() { return reading_of(io, flag); }
    std::string text() { return read().value().text.value(); }
    void pass(std::chrono::seconds d) { time.run_for(io, d); }
};

std::string why(result<policy::flag_reading> const& got)
{
    return got ? "nothing" : describe(got.error());
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(flags_in_parameters, parameters)

BOOST_AUTO_TEST_CASE(a_parameter_is_read_anew_each_time_and_decrypted)
{
    auto const flag = flags::in_parameter(client, "/orders/halt");
    BOOST_TEST(flag->name() == "ssm:/orders/halt");
    service.parameters["/orders/halt"] = {"open", "SecureString"};
    BOOST_TEST(reading_of(io, flag).value().text.value() == "open");
    service.parameters["/orders/halt"] = {"closed"};
    BOOST_TEST(reading_of(io, flag).value().text.value() == "closed");
    service.parameters.clear();
    BOOST_TEST(why(reading_of(io, flag)).find("ParameterNotFound") != std::string::npos);
    service.throttles = true;
    BOOST_TEST(why(reading_of(io, flag)).find("Rate exceeded") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(flags_in_tables, table)

BOOST_AUTO_TEST_CASE(an_item_is_read_whatever_the_type_of_its_attribute)
{
    put("quern#flag#text", "data", services::attribute::text("open"));
    put("quern#flag#number", "data", services::attribute::number(0));
    put("quern#flag#bool", "halted", services::attribute{"BOOL", "true"});
    BOOST_TEST(read({"seen", "text"}).value().text.value() == "open");
    BOOST_TEST(read({"seen", "number"}).value().text.value() == "0");
    BOOST_TEST(read({"seen", "bool", "halted"}).value().text.value() == "true");
    put("quern#flag#null", "data", services::attribute{"NULL", "true"});
    BOOST_TEST(
        why(read({"seen", "null"})).find("the attribute data of quern#flag#null is a NULL") != std::string::npos);
    BOOST_TEST(service.asked.back().find(R"("ConsistentRead":false)") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_is_not_there_is_told_by_its_name)
{
    put("quern#flag#orders", "other", services::attribute::text("open"));
    BOOST_TEST(why(read({"seen", "none"})).find("no item quern#flag#none") != std::string::npos);
    BOOST_TEST(why(read({"seen", "orders"})).find("no attribute data") != std::string::npos);
    BOOST_TEST(why(read({"no-table", "orders"})).find("ResourceNotFoundException") != std::string::npos);
    flags::flag_item const elsewhere{"seen", "orders", "state"};
    BOOST_TEST(flags::in_table(client, elsewhere)->name() == "ddb:seen/orders#state");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(flags_in_configurations, deployed)

BOOST_AUTO_TEST_CASE(one_session_serves_all_readings_and_an_empty_answer_means_the_same_text)
{
    BOOST_TEST(flag->name() == "appconfig:shop/prod/flags");
    auto const first = read().value();
    BOOST_TEST(first.text.value() == "open");
    BOOST_TEST(first.not_before.count() == 15);
    pass(15s);
    BOOST_TEST(text() == "open");
    service.deploy("shop/prod/flags", "closed");
    pass(15s);
    BOOST_TEST(text() == "closed");
    BOOST_TEST(service.sessions == 1);
    BOOST_TEST(service.readings == 3);
    BOOST_TEST(service.refused == 0);
}

BOOST_AUTO_TEST_CASE(two_consumers_that_share_it_ask_no_sooner_than_the_service_wants)
{
    text();
    pass(7s);
    auto const second = read().value(); // of another consumer
    BOOST_TEST(second.text.value() == "open");
    BOOST_TEST(second.not_before.count() == 8);
    service.deploy("shop/prod/flags", "closed");
    pass(8s);
    BOOST_TEST(text() == "closed");
    BOOST_TEST(text() == "closed");
    BOOST_TEST(service.refused == 0);
    BOOST_TEST(service.readings == 2);
}

// Two that read in turn, each while the other waited for an answer, kept a word good for ever.
BOOST_AUTO_TEST_CASE(while_the_reading_of_another_hangs_an_old_word_is_no_answer)
{
    text();
    service.deploy("shop/prod/flags", "closed");
    pass(18s);
    std::optional<result<policy::flag_reading>> other;
    int lost = 1;
    service.loses_answer = [&] {
        if (lost-- != 1) return false;
        asio::co_spawn(io, flag->read(), [&](std::exception_ptr, auto got) { other.emplace(std::move(got)); });
        return true;
    };
    BOOST_TEST(text() == "closed");
    pass(1s);
    BOOST_REQUIRE(other.has_value());
    BOOST_TEST(other->value().text.value() == "closed");
}

BOOST_AUTO_TEST_CASE(a_token_that_is_refused_begins_a_new_session_at_once)
{
    text();
    service.forget_sessions();
    service.deploy("shop/prod/flags", "closed");
    pass(15s);
    BOOST_TEST(text() == "closed");
    BOOST_TEST(service.sessions == 2);
    BOOST_TEST(service.refused == 1);
}

BOOST_AUTO_TEST_CASE(an_answer_that_is_lost_has_used_its_token_up)
{
    text();
    service.deploy("shop/prod/flags", "closed");
    pass(15s);
    int lost = 1;
    service.loses_answer = [&] { return lost-- > 0; };
    BOOST_TEST(text() == "closed");
    BOOST_TEST(service.sessions == 2);
    pass(15s);
    lost = 3;
    BOOST_TEST(read().has_error());
    lost = 0;
    BOOST_TEST(text() == "closed");
}

BOOST_AUTO_TEST_CASE(an_error_of_the_service_leaves_the_session_as_it_is)
{
    text();
    pass(15s);
    service.fails_with_status = [] { return 500; };
    BOOST_TEST(read().has_error());
    service.fails_with_status = nullptr;
    BOOST_TEST(text() == "open");
    BOOST_TEST(service.sessions == 1);
}

BOOST_AUTO_TEST_CASE(while_the_service_is_down_the_last_word_counts_and_its_age_grows)
{
    policy::flag_options how;
    how.source = flag;
    policy::detail::flag_rule rule(how, time.now());
    std::mt19937_64 random{1};
    auto const look = [&] {
        pass(15s);
        if (rule.due(time.now())) rule.read(read(), time.now(), random);
    };
    look();
    BOOST_TEST(rule.halts(time.now()));
    service.is_down = true;
    auto const said_at = time.now();
    while (time.now() - said_at < 285s)
        look();
    BOOST_TEST(rule.halts(time.now()));
    BOOST_TEST(rule.age(time.now())->count() == 285);
    BOOST_TEST(
        rule.explain(time.now()).find("says halt, last read 285 s ago; it cannot be read now") != std::string::npos);
    for (int i = 0; i != 100; ++i)
        look(); // what halts goes on until it is read otherwise
    BOOST_TEST(rule.halts(time.now()));
    service.is_down = false;
    look();
    BOOST_TEST(rule.halts(time.now()));
}

BOOST_AUTO_TEST_CASE(a_pointer_leads_to_the_flag_in_a_configuration)
{
    service.deploy("shop/prod/flags", R"({"orders":{"enabled":true},"mails":{"state":"closed"}})");
    flag = of("/orders");
    BOOST_TEST(flag->name() == "appconfig:shop/prod/flags#/orders");
    BOOST_TEST(std::string(policy::read_flag(text()) == policy::flag_word::halt ? "halt" : "run") == "halt");
    flag = of("/mails/state");
    BOOST_TEST(text() == "closed");
    flag = of("/none");
    BOOST_TEST(why(read()).find("it has nothing at /none") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

// The member that --flag-name names was not found in a feature flag that a pointer led to.
BOOST_AUTO_TEST_CASE(a_name_finds_its_member_where_a_pointer_has_led)
{
    auto const flag = pointed_at(R"({"orders":{"enabled":false,"halt":true}})", "/orders").value();
    BOOST_TEST(policy::read_flag(flag, "halt") == policy::flag_word::halt);
    BOOST_TEST(policy::read_flag(flag) == policy::flag_word::run);
}

BOOST_AUTO_TEST_CASE(a_pointer_gives_words_as_they_are_and_objects_as_json)
{
    auto const at = [](char const* pointer) {
        auto const got =
            pointed_at(R"({"a":"open","b":true,"c":0,"d":{"enabled":false},"e":{"isOpen":1},"f~/":"x"})", pointer);
        return got ? *got : describe(got.error());
    };
    BOOST_TEST(at("/a") == "open");
    BOOST_TEST(at("/b") == "true");
    BOOST_TEST(at("/c") == "0");
    BOOST_TEST(at("/d") == R"({"open":{"enabled":false},"enabled":false})");
    BOOST_TEST(at("/e") == R"({"isOpen":1})");
    BOOST_TEST(at("/f~0~1") == "x");
    BOOST_TEST(pointed_at(R"({"a":"open","since":12345678901234567890123})", "/a").value() == "open");
    BOOST_TEST(pointed_at("open", "").value() == "open");
    BOOST_TEST(pointed_at("open", "/a").has_error());
    BOOST_TEST(check_pointer("/a~1b").empty());
    BOOST_TEST(check_pointer("a") == "a JSON pointer begins with a slash: #/orders/halt");
    BOOST_TEST(!check_pointer("/a~2").empty());
}
