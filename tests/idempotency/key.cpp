#include <quern/idempotency/key.hpp>

#include <boost/test/unit_test.hpp>

#include <map>
#include <string>

using namespace quern;
using namespace quern::idempotency;
using std::string;
using kind = key_source::kind;

namespace {

struct letter {
    sqs::message message;
    string body;

    delivery made() const
    {
        auto m = message;
        m.id = "059f36b4-87a3-44ab-83d2-661975830a7d";
        m.body = body;
        return delivery(std::move(m), {}, real_clock());
    }
};

key_source body(std::vector<string> pointers)
{
    key_source out;
    out.what = kind::body;
    out.names = std::move(pointers);
    return out;
}

string text_of(char const* name, string const& json)
{
    return text_to_hash(*flavour_named(name), json);
}

constexpr auto everything =
    "{\"b\":[1,2.5,1e16,1.0,1e-7],\"a\":\"Zo\xc3\xab \xf0\x9f\x98\x80\\n\\u007f/\",\"B\":null,\"A\":true}";

} // namespace

BOOST_AUTO_TEST_SUITE(keys)

// As json.dumps(…, sort_keys=True) of Python 3.11, JSON.stringify of Node 20 and Jackson write them.
BOOST_AUTO_TEST_CASE(each_language_writes_a_value_in_its_own_way_before_it_hashes)
{
    BOOST_TEST(text_of("python", everything) ==
        R"({"A": true, "B": null, "a": "Zo\u00eb \ud83d\ude00\n\u007f/", "b": [1, 2.5, 1e+16, 1.0, 1e-07]})");
    BOOST_TEST(text_of("typescript", everything) ==
        "{\"a\":\"Zo\xc3\xab "
        "\xf0\x9f\x98\x80\\n\x7f/\",\"A\":true,\"b\":[1,2.5,10000000000000000,1,1e-7],\"B\":null}");
    BOOST_TEST(text_of("java", everything) ==
        "{\"b\":[1,2.5,1.0E16,1.0,1.0E-7],\"a\":\"Zo\xc3\xab \xf0\x9f\x98\x80\\n\x7f/\",\"B\":null,\"A\":true}");
    BOOST_TEST(text_of("quern", everything) ==
        "{\"A\":true,\"B\":null,\"a\":\"Zo\xc3\xab "
        "\xf0\x9f\x98\x80\\n\x7f/\",\"b\":[1,2.5,10000000000000000,1,1e-7]}");
}

BOOST_AUTO_TEST_CASE(numbers_are_written_as_each_language_does)
{
    struct row {
        char const *json, *python, *script, *java;
    };
    for (auto const& r : {row{"7", "7", "7", "7"}, {"-3", "-3", "-3", "-3"}, {"0.0", "0.0", "0", "0.0"},
             {"100.0", "100.0", "100", "100.0"}, {"0.0001", "0.0001", "0.0001", "1.0E-4"},
             {"0.00001", "1e-05", "0.00001", "1.0E-5"}, {"12345678.5", "12345678.5", "12345678.5", "1.23456785E7"},
             {"1.5e21", "1.5e+21", "1.5e+21", "1.5E21"}, {"0.1", "0.1", "0.1", "0.1"},
             {"-2.5e-10", "-2.5e-10", "-2.5e-10", "-2.5E-10"},
             {"1234567890123456789", "1234567890123456789", "1234567890123456800", "1234567890123456789"},
             {"-9007199254740993", "-9007199254740993", "-9007199254740992", "-9007199254740993"},
             {"18446744073709551615", "18446744073709551615", "18446744073709552000", "18446744073709551615"},
             {"1000000000000000000001", "1000000000000000000001", "1e+21", "1000000000000000000001"}}) {
        BOOST_TEST(text_of("python", r.json) == r.python);
        BOOST_TEST(text_of("typescript", r.json) == r.script);
        BOOST_TEST(text_of("java", r.json) == r.java);
    }
}

// JavaScript gives members whose names are numbers the first places, whatever the order in which they were set.
BOOST_AUTO_TEST_CASE(members_with_numbers_for_names_stand_where_javascript_puts_them)
{
    auto const* const json = R"({"b":1,"10":2,"9":3,"01":4,"4294967295":5,"4294967294":6,"a":7})";
    BOOST_TEST(text_of("typescript", json) == R"({"9":3,"10":2,"4294967294":6,"01":4,"4294967295":5,"a":7,"b":1})");
    BOOST_TEST(text_of("java", R"({"10":2,"9":3})") == R"({"10":2,"9":3})");
}

// simdjson refuses such a text as a whole, so its message had no key and was retried until it was dead.
BOOST_AUTO_TEST_CASE(a_number_beyond_64_bits_is_no_reason_to_find_no_key)
{
    letter const of{{}, R"({"id":"x\"1","wei":1000000000000000000000,"of":[-92233720368547758080]})"};
    BOOST_TEST(body({"/id"}).value_in(of.made()).value() == R"("x\"1")");
    BOOST_TEST(body({"/wei"}).value_in(of.made()).value() == "1000000000000000000000");
    BOOST_TEST(body({"/of"}).value_in(of.made()).value() == "[-92233720368547758080]");
    BOOST_TEST(text_of("python", of.body) ==
        R"({"id": "x\"1", "of": [-92233720368547758080], "wei": 1000000000000000000000})");
    BOOST_TEST(!body({"/id"}).value_in(letter{{}, R"({"id":"x","n":01000000000000000000000})"}.made()).has_value());
    BOOST_TEST(body({"/id"}).value_in(letter{{}, R"({"id":"\u0001-1"})"}.made()).value() == R"("\u0001-1")");
}

// What stands beside the key is no reason to find none, and what was hashed as a text stays one.
BOOST_AUTO_TEST_CASE(a_number_that_no_double_holds_or_a_byte_order_mark_hides_no_key)
{
    BOOST_TEST(body({"/id"}).value_in(letter{{}, R"({"id":"x","span":1e400})"}.made()).value() == R"("x")");
    BOOST_TEST(body({"/id"}).value_in(letter{{}, "\xef\xbb\xbf{\"id\":7}"}.made()).value() == "7");
    BOOST_TEST(!body({"/span"}).value_in(letter{{}, R"({"id":"x","span":1e400})"}.made()).has_value());
    key_source whole;
    whole.what = kind::whole_body;
    BOOST_TEST(whole.value_in(letter{{}, "\xef\xbb\xbf{}"}.made()).value() == "\"\xef\xbb\xbf{}\"");
    BOOST_TEST(whole.value_in(letter{{}, "[1e400]"}.made()).value() == R"("[1e400]")");
}

// Keys that Powertools has stored for these inputs, reproduced byte for byte.
BOOST_AUTO_TEST_CASE(a_message_id_makes_the_keys_that_powertools_makes)
{
    auto const id = key_source().value_in(letter().made()).value();
    BOOST_TEST(id == "\"059f36b4-87a3-44ab-83d2-661975830a7d\"");
    BOOST_TEST(make_key(flavour::python, "orders", id) == "orders#068044a7927cd88524adc22442efbed9");
    BOOST_TEST(make_key(flavour::typescript, "orders", id) == "orders#BoBEp5J82IUkrcIkQu++2Q==");
    BOOST_TEST(make_key(flavour::java, "orders", id) == "orders#5e8d3c508ebc61bb26b9104ccf5916e4");
    BOOST_TEST(make_key(flavour::quern, "orders", id) ==
        "orders#c26380f3dfe7ddb3f0632128e40cacd7daaaec903c06107d12dfa521b411dff0");
}

BOOST_AUTO_TEST_CASE(several_pointers_make_a_list)
{
    letter const of{{}, R"({"order":{"id":"x"},"n": 7})"};
    auto const list = body({"/order/id", "/n"}).value_in(of.made()).value();
    BOOST_TEST(list == R"(["x",7])");
    BOOST_TEST(make_key(flavour::python, "p", list) == "p#d777a3c87cf407b3b7fd2b1bdcc65848");
    BOOST_TEST(make_key(flavour::typescript, "p", list) == "p#6YY0b5UjRAOwKka3UScAFA==");
    BOOST_TEST(make_key(flavour::java, "p", list) == "p#e986346f95234403b02a46b751270014");
}

BOOST_AUTO_TEST_CASE(a_redriven_message_keeps_the_key_of_its_first_life)
{
    letter of;
    of.message.attributes.push_back({"QuernOriginalId", "String", "first"});
    BOOST_TEST(key_source().value_in(of.made()).value() == "\"first\"");
}

BOOST_AUTO_TEST_CASE(a_message_may_have_no_key)
{
    key_source of_group;
    of_group.what = kind::deduplication_id;
    BOOST_TEST(!of_group.value_in(letter().made()).has_value());
    key_source attribute;
    attribute.what = kind::attribute;
    attribute.names = {"order"};
    BOOST_TEST(!attribute.value_in(letter().made()).has_value());
    for (auto const* text : {"", "no json", "{}", R"({"id":null})", "[1,2]"})
        BOOST_TEST(!body({"/id"}).value_in(letter{{}, text}.made()).has_value(), text);
    BOOST_TEST(!body({"/id", "/none"}).value_in(letter{{}, R"({"id":1})"}.made()).has_value());
}

// The second message with an empty order id was deleted unhandled, as a duplicate of the first.
BOOST_AUTO_TEST_CASE(what_is_empty_is_no_key)
{
    struct row {
        char const *key, *body;
        bool is_one;
    };
    for (auto const& [key, text, is_one] : {
             row{"body:/id", R"({"id":""})", false},
             row{"body:/id", R"({"id":[]})", false},
             row{"body:/id", R"({"id":[ ]})", false},
             row{"body:/id", R"({"id":{}})", false},
             row{"body:/id", R"({"id":null})", false},
             row{"body:/id", R"({"id":[null, null]})", false},
             row{"body:/id", R"({})", false},
             row{"body:/id", R"({"id":0})", true},
             row{"body:/id", R"({"id":false})", true},
             row{"body:/id", R"({"id":" "})", true},
             row{"body:/id", R"({"id":"null"})", true},
             row{"body:/id", R"({"id":"[]"})", true},
             row{"body:/id", R"({"id":[""]})", true},
             row{"body:/id", R"({"id":{"a":null}})", true},
             row{"body:/id,/n", R"({"id":"","n":1})", false},
             row{"body:/id,/n", R"({"id":1,"n":{}})", false},
             row{"body:/id,/n", R"({"id":1,"n":[]})", false},
             row{"body:/id,/n", R"({"id":1})", false},
             row{"body:/id,/n", R"({"id":1,"n":0})", true},
             row{"body", "{}", false},
             row{"body", " [ ] ", false},
             row{"body", R"("")", false},
             row{"body", "null", false},
             row{"body", " null\n", false},
             row{"body", "", false},
             row{"body", "nul", true},
             row{"body", "plain", true},
             row{"body", "0", true},
             row{"attribute:order", "x", false},
             row{"deduplication-id", "x", false},
         }) {
        letter of;
        of.body = text;
        of.message.attributes.push_back({"order", "String", ""});
        BOOST_TEST(key_source::parse(key).value().key_in(of.made()).has_value() == is_one, key << " in " << text);
    }
    key_source own;
    own.what = kind::function;
    own.make = [](delivery const&) { return string(); };
    BOOST_TEST(!own.key_in(letter().made()).has_value());
    BOOST_TEST(
        body({"/id"}).value_in(letter{{}, R"({"id":""})"}.made()).value() == R"("")"); // a payload may be empty
}

BOOST_AUTO_TEST_CASE(a_key_is_taken_from_where_it_is_said)
{
    letter of;
    of.message.attributes.push_back({"order", "Number", "17"});
    of.message.system_attributes.push_back({"MessageDeduplicationId", "d-1"});
    of.body = "plain";
    auto const found = [&](char const* text) { return key_source::parse(text).value().value_in(of.made()).value(); };
    BOOST_TEST(found("attribute:order") == "\"17\"");
    BOOST_TEST(found("deduplication-id") == "\"d-1\"");
    BOOST_TEST(found("body") == "\"plain\"");
    of.body = R"({"a":{"b":[1,2]},"c/d":3})";
    BOOST_TEST(found("body:/a/b") == "[1,2]");
    BOOST_TEST(found("body:/c~1d,/a/b/0") == "[3,1]");
    BOOST_TEST(found("body") == R"({"a":{"b":[1,2]},"c/d":3})");
}

BOOST_AUTO_TEST_CASE(what_names_no_key_is_refused)
{
    for (auto const* text : {"", "id", "attribute:", "body:", "body:order", "message-id:x", "Message-Id"})
        BOOST_TEST(key_source::parse(text).has_error(), text);
}

BOOST_AUTO_TEST_CASE(a_function_may_make_the_key)
{
    key_source own;
    own.what = kind::function;
    own.make = [](delivery const& d) { return string(d.body()) + "!"; };
    BOOST_TEST(own.value_in(letter{{}, "a"}.made()).value() == "\"a!\"");
}

BOOST_AUTO_TEST_SUITE_END()
