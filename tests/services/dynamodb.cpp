#include <quern/services/dynamodb.hpp>

#include <support/fake_dynamodb.hpp>
#include <support/run.hpp>
#include <support/variables.hpp>

#include <boost/test/unit_test.hpp>

using namespace quern::services;
using namespace std::chrono_literals;
using quern::errc;
using quern::test::dynamodb_tables;
using quern::test::fake_dynamodb;
using quern::test::run;
using std::string;

namespace asio = boost::asio;

namespace {

struct fixture {
    asio::io_context io;
    fake_dynamodb service{io};
    dynamodb client{io.get_executor(), service.options<dynamodb_options>()};

    fixture() { service.tables.add("t"); }

    template <class T>
    T done(asio::awaitable<quern::result<T>> work)
    {
        return run(io, std::move(work)).value();
    }

    write_response put(string const& id, string const& value, string when = {})
    {
        item what{{"id", attribute::text(id)}, {"v", attribute::text(value)}};
        condition c;
        c.text = std::move(when);
        return done(client.put_item({"t", std::move(what), std::move(c)}));
    }
};

item key(string id)
{
    return {{"id", attribute::text(std::move(id))}};
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(a_client_of_dynamodb, fixture)

BOOST_AUTO_TEST_CASE(reads_what_it_has_put)
{
    put("a\"b", "ü");
    auto const got = done(client.get_item({"t", key("a\"b")}));
    BOOST_REQUIRE(got.found.has_value());
    BOOST_TEST(find(*got.found, "v", "S").value() == "ü");
    BOOST_TEST(!find(*got.found, "v", "N").has_value());
    BOOST_TEST(!done(client.get_item({"t", key("other")})).found.has_value());
}

BOOST_AUTO_TEST_CASE(signs_for_dynamodb_without_the_query_mode)
{
    put("a", "1");
    auto const& request = service.asked.front();
    BOOST_TEST(request.find("x-amz-target: DynamoDB_20120810.PutItem") != string::npos);
    BOOST_TEST(request.find("/eu-west-1/dynamodb/aws4_request") != string::npos);
    BOOST_TEST(request.find("application/x-amz-json-1.0") != string::npos);
    BOOST_TEST(request.find("x-amzn-query-mode") == string::npos);
}

BOOST_AUTO_TEST_CASE(answers_a_refused_condition_with_the_item_that_stands_there)
{
    BOOST_TEST(put("a", "first", "attribute_not_exists(id)").applied);
    auto const second = put("a", "second", "attribute_not_exists(id)");
    BOOST_TEST(!second.applied);
    BOOST_REQUIRE(second.found.has_value());
    BOOST_TEST(find(*second.found, "v", "S").value() == "first");
}

BOOST_AUTO_TEST_CASE(answers_a_refused_condition_without_an_item_where_none_is_there)
{
    auto const said = put("a", "x", "attribute_exists(id)");
    BOOST_TEST(!said.applied);
    BOOST_TEST(!said.found.has_value());
}

BOOST_AUTO_TEST_CASE(updates_and_deletes_under_a_condition)
{
    put("a", "1");
    condition when;
    when.text = "#v = :old";
    when.names["#v"] = "v";
    when.values[":old"] = attribute::text("1");
    when.values[":new"] = attribute::text("2");
    BOOST_TEST(done(client.update_item({"t", key("a"), "SET #v = :new", when})).applied);
    BOOST_TEST(!done(client.update_item({"t", key("a"), "SET #v = :new", when})).applied);
    when.values.erase(":new");
    auto const refused = done(client.delete_item({"t", key("a"), when}));
    BOOST_TEST(!refused.applied);
    BOOST_TEST(find(*refused.found, "v", "S").value() == "2");
    when.values[":old"] = attribute::text("2");
    BOOST_TEST(done(client.delete_item({"t", key("a"), when})).applied);
    BOOST_TEST(service.tables.all["t"].items.empty());
}

BOOST_AUTO_TEST_CASE(answers_each_statement_of_a_batch_for_itself)
{
    put("old", "1");
    std::vector<statement> all;
    all.push_back({"INSERT INTO \"t\" VALUE {'id': ?, 'v': ?}", {attribute::text("new"), attribute::text("x")}});
    all.push_back({"INSERT INTO \"t\" VALUE {'id': ?}", {attribute::text("old")}});
    all.push_back({"UPDATE \"t\" SET v=? WHERE id=? AND v=?",
        {attribute::text("2"), attribute::text("third"), attribute::text("1")}});
    auto const said = done(client.batch_execute_statement(batch_execute_statement_request(all)));
    BOOST_REQUIRE(said.size() == 3u);
    BOOST_TEST(!said[0].failed.has_value());
    BOOST_TEST(said[1].failed.value().service_code == "DuplicateItem");
    BOOST_TEST(!said[1].failed->retryable);
    BOOST_TEST(said[2].failed.value().service_code == "ConditionalCheckFailed");

    all.assign(1,
        {"UPDATE \"t\" SET v=? WHERE id=? AND v=?",
            {attribute::text("2"), attribute::text("old"), attribute::text("9")}});
    auto const refused = done(client.batch_execute_statement(batch_execute_statement_request(all)));
    BOOST_TEST(find(refused.at(0).found.value(), "v", "S").value() == "1");
}

BOOST_AUTO_TEST_CASE(makes_a_table_with_a_time_to_live_and_describes_it)
{
    BOOST_TEST(done(client.create_table({"seen", "pk", "sk"})).status == "CREATING");
    done(client.update_time_to_live({"seen", "expiration"}));
    auto const about = done(client.describe_table(describe_table_request("seen")));
    BOOST_TEST(about.status == "ACTIVE");
    BOOST_TEST(about.hash_key == "pk");
    BOOST_TEST(about.sort_key == "sk");
    BOOST_TEST(about.billing == "PAY_PER_REQUEST");
    auto const life = done(client.describe_time_to_live(describe_time_to_live_request("seen")));
    BOOST_TEST(life.status == "ENABLED");
    BOOST_TEST(life.attribute == "expiration");
}

BOOST_AUTO_TEST_CASE(fails_with_the_services_code)
{
    auto const said = run(io, client.get_item({"none", key("a")}));
    BOOST_REQUIRE(said.has_error());
    BOOST_TEST(said.error().service_code == "ResourceNotFoundException");
}

BOOST_AUTO_TEST_CASE(tries_again_when_the_service_is_unwell_and_when_an_answer_is_lost)
{
    int failures = 2;
    service.instead = [&](string const&) -> std::optional<dynamodb_tables::reply> {
        if (failures-- <= 0) return {};
        return dynamodb_tables::reply{500, R"({"__type":"x#InternalServerError"})"};
    };
    BOOST_TEST(put("a", "1").applied);
    int lost = 1;
    service.loses_answer = [&](string const&) { return lost-- > 0; };
    BOOST_TEST(put("b", "1").applied);
    BOOST_TEST(service.operations.size() == 3u);
}

BOOST_AUTO_TEST_CASE(reads_answers_of_other_shapes_than_the_models_as_failures)
{
    for (auto const* body : {"", "[]", "{", "{\"Item\":{\"a\":3}}", "{\"Item\":{\"a\":{}}}"}) {
        service.instead = [&](string const&) { return dynamodb_tables::reply{200, body}; };
        auto const said = run(io, client.get_item({"t", key("a")}));
        BOOST_TEST(said.has_error(), body);
    }
    std::vector<statement> const two(2, {"DELETE FROM \"t\" WHERE id=?", {attribute::text("a")}});
    for (auto const* body : {"{}", "{\"Responses\":[{}]}", "{\"Responses\":[{},5]}", "{\"Responses\":[[],{}]}"}) {
        service.instead = [&](string const&) { return dynamodb_tables::reply{200, body}; };
        auto const said = run(io, client.batch_execute_statement(batch_execute_statement_request(two)));
        BOOST_TEST(said.has_error(), body); // an entry that is no object counted as done
    }
}

BOOST_AUTO_TEST_CASE(can_be_called_from_another_strand_and_ends_what_waits_when_it_goes)
{
    auto gone = std::make_unique<dynamodb>(io.get_executor(), service.options<dynamodb_options>());
    service.instead = [&](string const&) -> std::optional<dynamodb_tables::reply> {
        asio::post(io, [&] { gone.reset(); });
        return dynamodb_tables::reply{500, "{}"};
    };
    auto const said = run(io, gone->get_item({"t", key("a")}));
    BOOST_REQUIRE(said.has_error());
    BOOST_TEST(said.error().code == errc::stopped);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(the_endpoint_comes_from_the_variable_of_the_service)
{
    ::setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:8111", 1);
    ::setenv("AWS_REGION", "eu-west-1", 1);
    asio::io_context io;
    dynamodb const client(io.get_executor());
    ::unsetenv("AWS_ENDPOINT_URL_DYNAMODB");
    dynamodb const other(io.get_executor());
    ::unsetenv("AWS_REGION");
    BOOST_TEST(client.endpoint().authority() == "127.0.0.1:8111");
    BOOST_TEST(client.region() == "eu-west-1");
    BOOST_TEST(other.endpoint().authority() == "dynamodb.eu-west-1.amazonaws.com");
}
