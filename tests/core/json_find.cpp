#include <quern/core/detail/text/json_find.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace quern::detail::text;

namespace {

std::string at(std::string_view text, std::string_view pointer)
{
    auto const look = find_json(text, pointer);
    if (!look.readable) return "no JSON";
    return look.found ? std::string(look.found->json) : "nothing";
}

std::string text_at(std::string_view text, std::string_view pointer)
{
    return find_json(text, pointer).found.value().as_text();
}

} // namespace

BOOST_AUTO_TEST_SUITE(json_finding)

BOOST_AUTO_TEST_CASE(a_pointer_leads_to_a_value_as_it_stands_there)
{
    std::string const order =
        R"( {"order":{"state":"new","lines":[{"n":2},[ ]],"paid":false,"a/b":1,"m~n":2.50,"x":null,"":7,"\u0061":8}} )";
    struct row {
        std::string pointer, found;
    };
    for (auto const& r : std::vector<row>{{"/order/state", R"("new")"}, {"/order/lines/0/n", "2"},
             {"/order/lines/1", "[ ]"}, {"/order/lines", R"([{"n":2},[ ]])"}, {"/order/lines/2", "nothing"},
             {"/order/lines/00", "nothing"}, {"/order/lines/-", "nothing"}, {"/order/lines/x", "nothing"},
             {"/order/lines/99999999999999999999", "nothing"}, {"/order/lines/1/0", "nothing"},
             {"/order/paid", "false"}, {"/order/a~1b", "1"}, {"/order/m~0n", "2.50"}, {"/order/m~n", "nothing"},
             {"/order/x", "null"}, {"/order/", "7"}, {"/order/a", "8"}, {"/order/y", "nothing"},
             {"/order/state/x", "nothing"}, {"order", "nothing"}, {"/", "nothing"}})
        BOOST_TEST(at(order, r.pointer) == r.found, r.pointer);
    BOOST_TEST(at(" [1 , 2]\n", "") == "[1 , 2]");
    BOOST_TEST(at(R"({"a":1,"a":2})", "/a") == "1");
}

// simdjson, which read bodies before, refuses a whole text for one such number.
BOOST_AUTO_TEST_CASE(numbers_keep_their_digits_whatever_their_size)
{
    for (auto const* digits : {"8202522731445525543", "12345678901234567890123", "-9223372036854775809", "1e400",
             "1E-999999999999999999999", "0.10", "-0", "3.14159265358979323846264338327950288419716939937510"}) {
        auto const body = R"({"n":)" + std::string(digits) + R"(,"s":"x"})";
        BOOST_TEST(at(body, "/n") == digits);
        BOOST_TEST(at(body, "/s") == R"("x")");
    }
}

BOOST_AUTO_TEST_CASE(a_byte_order_mark_may_stand_before_the_text)
{
    BOOST_TEST(at("\xef\xbb\xbf{\"a\":1}", "/a") == "1");
    BOOST_TEST(at("\xef\xbb\xbf 1", "") == "1");
    BOOST_TEST(at("\xef\xbb\xbf", "") == "no JSON");
    BOOST_TEST(at("\xef\xbb\xbf\xef\xbb\xbf[]", "") == "no JSON");
}

BOOST_AUTO_TEST_CASE(what_is_no_json_is_told_from_what_lacks_the_value)
{
    for (auto const* text :
        {"", " ", "no json", "{", "}", "[1,]", "[,1]", "{\"a\":1,}", "{\"a\"}", "{\"a\":}", "{a:1}", "{1:2}", "[1 2]",
            "{} {}", "[}", "{]", "01", "+1", ".5", "5.", "1e", "1e+", "-", "--1", "0x1", "1.5.2", "tru", "truex",
            "nul", "True", "NaN", "\"", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\ud800\"", "\"\\udc00\"",
            "\"\\ud800\\u0041\"", "\"\\ud800x\"", "\"a\nb\"", "\"\x01\"", "\"\xff\"", "\xff", "[1]x", "'a'", "/**/1"})
        BOOST_TEST(at(text, "") == "no JSON", text);
    BOOST_TEST(at("{\"a\":1,\"b\":tru}", "/a") == "no JSON"); // to its end
}

BOOST_AUTO_TEST_CASE(texts_are_shown_without_escapes_and_the_rest_without_blanks)
{
    BOOST_TEST(text_at(R"("a\"\\\/\b\f\n\r\t\u00e4\u20ac\ud83d\ude00b")", "") ==
        "a\"\\/\b\f\n\r\t\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"
        "b");
    BOOST_TEST(text_at(R"("\u0000")", "") == std::string(1, '\0'));
    BOOST_TEST(text_at("{ \"a b\" : [ 1.50 ,\n true , \"c \\\" d\" ] }", "") == R"({"a b":[1.50,true,"c \" d"]})");
    BOOST_TEST(text_at(R"({"\u00e4/":"x y"})", "/\xc3\xa4~1") == "x y");
}

BOOST_AUTO_TEST_CASE(a_word_is_a_text_a_number_or_true_or_false)
{
    std::string const body = R"({"t":"x","n":1.10,"b":true,"z":null,"l":[],"o":{}})";
    auto const word = [&](char const* pointer) { return find_json_word(body, pointer).value_or("none"); };
    BOOST_TEST(word("/t") == "x");
    BOOST_TEST(word("/n") == "1.10");
    BOOST_TEST(word("/b") == "true");
    for (auto const* pointer : {"/z", "/l", "/o", "/absent"})
        BOOST_TEST(word(pointer) == "none", pointer);
    BOOST_TEST(!find_json_word("x", "").has_value());
}

BOOST_AUTO_TEST_CASE(members_and_elements_are_found_one_by_one)
{
    auto const list = find_json(R"([ {"a":1}, [2], "x" ])", "").found.value();
    std::vector<std::string> all;
    for (auto const& one : list.elements())
        all.emplace_back(one.json);
    BOOST_TEST(all == (std::vector<std::string>{R"({"a":1})", "[2]", R"("x")"}), boost::test_tools::per_element());
    BOOST_TEST(list.elements().front().member("a").value().json == "1");
    BOOST_TEST(!list.elements().front().member("b").has_value());
    BOOST_TEST(!list.member("a").has_value());
    BOOST_TEST(find_json("[]", "").found.value().elements().empty());
    BOOST_TEST(find_json("{}", "").found.value().elements().empty());
}

BOOST_AUTO_TEST_CASE(a_text_is_read_to_a_depth_of_1024)
{
    auto const deep = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
    BOOST_TEST(find_json(deep(1'024), "").readable);
    BOOST_TEST(!find_json(deep(1'025), "").readable);
    BOOST_TEST(!find_json(std::string(1'000'000, '['), "").readable);
    BOOST_TEST(!find_json(std::string(1'000'000, '{'), "").readable);
}

BOOST_AUTO_TEST_SUITE_END()
