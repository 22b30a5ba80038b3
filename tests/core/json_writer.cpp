#include <quern/core/detail/text/json_writer.hpp>

#include <boost/test/unit_test.hpp>

#include <limits>

using namespace quern::detail;

namespace {

std::string escaped(std::string_view text)
{
    std::string out;
    text::append_json_string(out, text);
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(json_writer)

BOOST_AUTO_TEST_CASE(puts_commas_where_they_belong)
{
    std::string out;
    text::json_writer json(out);
    json.begin_object().key("a").begin_array().integer(1).boolean(false).begin_object().end_object().end_array();
    json.member("b", "text").member("c", 7).member("d", true).key("e").begin_object().member("f", "").end_object();
    json.key("g").begin_array().end_array().end_object();
    BOOST_TEST(out == R"({"a":[1,false,{}],"b":"text","c":7,"d":true,"e":{"f":""},"g":[]})");
}

BOOST_AUTO_TEST_CASE(appends_to_what_is_there)
{
    std::string out = "data: ";
    text::json_writer(out).begin_array().end_array();
    BOOST_TEST(out == "data: []");
}

BOOST_AUTO_TEST_CASE(escapes_what_json_demands_and_nothing_else)
{
    BOOST_TEST(escaped("") == R"("")");
    BOOST_TEST(escaped("a\"b\\c/d") == R"("a\"b\\c/d")");
    BOOST_TEST(escaped("\b\f\n\r\t") == R"("\b\f\n\r\t")");
    BOOST_TEST(escaped(std::string_view("\0\x01\x1f\x7f", 4)) == "\"\\u0000\\u0001\\u001f\x7f\"");
    BOOST_TEST(escaped("größe 😀 \xff") == "\"größe 😀 \xff\"");
}

BOOST_AUTO_TEST_CASE(finds_what_needs_escaping_at_every_position)
{
    for (std::size_t size = 1; size < 40; ++size) {
        for (std::size_t at = 0; at < size; ++at) {
            for (auto const c : {'"', '\\', '\n', '\x1f'}) {
                std::string text(size, 'x'), expected = text;
                text[at] = c;
                expected.replace(at, 1, c == '"' ? "\\\"" : c == '\\' ? "\\\\" : c == '\n' ? "\\n" : "\\u001f");
                BOOST_TEST(escaped(text) == '"' + expected + '"');
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(writes_the_extreme_integers)
{
    std::string out;
    text::json_writer json(out);
    json.begin_array().integer(std::numeric_limits<std::int64_t>::min());
    json.integer(std::numeric_limits<std::int64_t>::max()).end_array();
    BOOST_TEST(out == "[-9223372036854775808,9223372036854775807]");
}

BOOST_AUTO_TEST_CASE(writes_bytes_as_base64)
{
    std::string out;
    text::json_writer json(out);
    json.begin_object().key("BinaryValue").base64(std::string_view("\0\xff", 2)).end_object();
    BOOST_TEST(out == R"({"BinaryValue":"AP8="})");
}

BOOST_AUTO_TEST_SUITE_END()
