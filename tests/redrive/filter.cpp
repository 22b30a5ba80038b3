#include <quern/redrive/filter.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace quern;
using namespace quern::redrive;
using namespace std::chrono_literals;

namespace {

sqs::message with(std::string_view name, std::string_view type, std::string_view value)
{
    sqs::message m;
    m.id = "the-id";
    m.attributes = {{name, type, value}};
    return m;
}

std::string shown(match m)
{
    return m == match::yes ? "yes" : m == match::no ? "no" : "unreadable";
}

std::string complaint(result<predicate> const& from)
{
    return from ? "none" : from.error().message;
}

} // namespace

BOOST_AUTO_TEST_SUITE(redrive_filter)

BOOST_AUTO_TEST_CASE(an_attribute_is_compared_with_a_value_as_in_json)
{
    struct row {
        std::string where, type, value;
        bool holds;
    };
    std::vector<row> const table{{R"(attr.k = "x")", "String", "x", true}, {R"(attr.k="x")", "String", "x", true},
        {R"(  attr.k  ==  "x" )", "String", "x", true}, {R"(attr.k = "x")", "String", "X", false},
        {R"(attr.k != "x")", "String", "x", false}, {R"(attr.k != "x")", "String", "y", true},
        {R"(attr.other = "x")", "String", "x", false}, {R"(attr.other != "x")", "String", "x", true},
        {R"(attr.k = 10)", "Number", "10.0", true}, {R"(attr.k = 10)", "String", "ten", false},
        {R"(attr.k = "10")", "Number", "10", true}, {R"(attr.k = true)", "String", "true", true},
        {"attr.k = 8202522731445525542", "Number", "8202522731445525542", true},
        {"attr.k = 8202522731445525542", "Number", "8202522731445525543", false},
        {"attr.k != 8202522731445525542", "Number", "8202522731445525543", true},
        {"attr.k = 1e2", "Number", "+100.00", true},
        {"attr.k = 12345678901234567890123456789012345678", "Number", "12345678901234567890123456789012345678", true},
        {"attr.k = 12345678901234567890123456789012345678", "Number", "12345678901234567890123456789012345679",
            false},
        {R"(attr.k = null)", "String", "null", false}, {R"(attr.other = null)", "String", "x", true},
        {R"(attr.k = "a\"b\u00e4")", "String", "a\"b\xC3\xA4", true}};
    for (auto const& r : table) {
        BOOST_TEST_CONTEXT(r.where << " of " << r.value)
        {
            auto const made = parse_where(r.where);
            BOOST_REQUIRE(made.has_value());
            BOOST_TEST(shown(made->holds(with("k", r.type, r.value))) == (r.holds ? "yes" : "no"));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_part_of_the_body_is_compared_likewise)
{
    struct row {
        std::string where, body, holds;
    };
    std::string const order = R"({"order":{"state":"new","lines":[{"n":2}],"paid":false,"a/b":1,"m~n":2,"x":null}})";
    std::vector<row> const table{{R"(/order/state = "new")", order, "yes"}, {R"(/order/state != "new")", order, "no"},
        {R"(/order/state = "old")", order, "no"}, {"/order/lines/0/n = 2", order, "yes"},
        {"/order/lines/0/n = 2.0", order, "yes"}, {"/order/lines/1/n = 2", order, "no"},
        {"/order/paid = false", order, "yes"}, {"/order/paid = true", order, "no"}, {"/order/a~1b = 1", order, "yes"},
        {"/order/m~0n=2", order, "yes"}, {"/order/x = null", order, "yes"}, {"/order/y = null", order, "no"},
        {"/order/y != null", order, "yes"}, {"/order/y != 1", order, "yes"}, {"/order/state = 1", order, "no"},
        {R"(/order/a~1b = "1")", order, "no"}, {"/order = 1", order, "no"},
        {R"(/order/state = "new")", "no json", "unreadable"}, {R"(/order/state != "new")", "no json", "unreadable"},
        {R"(/order/state = "new")", "", "unreadable"}, {"/a = 1", R"({"a":1,})", "unreadable"}};
    for (auto const& r : table) {
        BOOST_TEST_CONTEXT(r.where << " of " << r.body)
        {
            auto const made = parse_where_body(r.where);
            BOOST_REQUIRE(made.has_value());
            sqs::message m;
            m.body = r.body;
            BOOST_TEST(shown(made->holds(m)) == r.holds);
        }
    }
}

// Ids were compared as doubles: two that differ in their last digit were one, and both were moved.
BOOST_AUTO_TEST_CASE(numbers_are_compared_digit_by_digit)
{
    struct row {
        std::string where, number, holds;
    };
    for (auto const& r : std::vector<row>{{"/n = 8202522731445525542", "8202522731445525542", "yes"},
             {"/n = 8202522731445525542", "8202522731445525543", "no"},
             {"/n != 8202522731445525542", "8202522731445525543", "yes"},
             {"/n != 8202522731445525542", "8202522731445525542.0", "no"},
             {"/n = 12345678901234567890123", "12345678901234567890123", "yes"},
             {"/n = 12345678901234567890123", "12345678901234567890124", "no"}, {"/n = 1", "10e-1", "yes"},
             {"/n = 1.0", "1", "yes"}, {"/n = 0", "-0.0", "yes"}, {"/n = 0.1", "0.10000000000000000001", "no"},
             {"/n = 1e400", "10e399", "yes"}, {"/n = 1e400", "1e401", "no"}, {"/n = -1", "1", "no"},
             {"/n = 1", "1e1000000000000000000", "unreadable"}, {"/n != 1", "1e1000000000000000000", "unreadable"},
             {R"(/n = "1")", "1e1000000000000000000", "no"}}) {
        sqs::message m;
        auto const body = R"({"n":)" + r.number + "}";
        m.body = body;
        BOOST_TEST(shown(parse_where_body(r.where).value().holds(m)) == r.holds, r.where << " of " << r.number);
    }
    BOOST_TEST(complaint(parse_where_body("/n = 1e1000000000000000000")) ==
        "\"/n = 1e1000000000000000000\", at character 6: expected a number whose exponent has 18 digits at most");
}

// != was true of all that simdjson did not read: a big number anywhere in the body, or a byte order mark before it.
BOOST_AUTO_TEST_CASE(a_body_with_a_big_number_or_a_byte_order_mark_is_read)
{
    for (std::string const body : {R"({"state":"paid","span":12345678901234567890123})",
             R"({"state":"paid","span":1e400})", "\xef\xbb\xbf{\"state\":\"paid\"}"}) {
        sqs::message m;
        m.body = body;
        BOOST_TEST(shown(parse_where_body(R"(/state = "paid")").value().holds(m)) == "yes", body);
        BOOST_TEST(shown(parse_where_body(R"(/state != "paid")").value().holds(m)) == "no", body);
        BOOST_TEST(parse_part("/state").value().of(m).text.value() == "paid", body);
    }
}

BOOST_AUTO_TEST_CASE(what_makes_no_sense_is_told_with_its_place)
{
    auto const value = "expected a value as in JSON: \"text\" in quotes, a number, true, false or null";
    BOOST_TEST(
        complaint(parse_where("type = 1")) == "\"type = 1\", at character 1: expected attr. and an attribute's name");
    BOOST_TEST(complaint(parse_where("attr. = 1")) == "\"attr. = 1\", at character 6: expected an attribute's name");
    BOOST_TEST(complaint(parse_where("attr.a ~ 1")) == "\"attr.a ~ 1\", at character 8: expected = or !=");
    BOOST_TEST(complaint(parse_where("attr.a")) == "\"attr.a\", at character 7: expected = or !=");
    BOOST_TEST(complaint(parse_where("attr.a = x")) == std::string("\"attr.a = x\", at character 10: ") + value);
    BOOST_TEST(complaint(parse_where("attr.a = ")) == std::string("\"attr.a = \", at character 10: ") + value);
    BOOST_TEST(complaint(parse_where("attr.a = [1]")) == std::string("\"attr.a = [1]\", at character 10: ") + value);
    BOOST_TEST(complaint(parse_where_body("order = 1")) ==
        "\"order = 1\", at character 1: expected a JSON pointer, which begins with /, like /order/state");
    BOOST_TEST(complaint(parse_where_body("/a~2 = 1")) ==
        "\"/a~2 = 1\", at character 3: in a JSON pointer ~ is written ~0, and / within a name ~1");
    BOOST_TEST(complaint(parse_where_body("/a < 1")) == "\"/a < 1\", at character 4: expected = or !=");
    BOOST_TEST(complaint(parse_where_body("/a = \"x")) == std::string("\"/a = \"x\", at character 6: ") + value);
}

BOOST_AUTO_TEST_CASE(all_conditions_of_a_filter_hold)
{
    sqs::message m = with("k", "String", "x");
    m.system_attributes = {{"SentTimestamp", "1700000000000"}, {"MessageGroupId", "g"}};
    wall_time const sent{1'700'000'000s};
    filter all;
    BOOST_TEST(all.chooses_all());
    BOOST_TEST(shown(all.chooses(m)) == "yes");
    filter f;
    f.since = sent;
    f.until = sent + 1s;
    f.id = "the-id";
    f.group = "g";
    f.where.push_back(parse_where(R"(attr.k = "x")").value());
    BOOST_TEST(shown(f.chooses(m)) == "yes");
    BOOST_TEST(!f.chooses_all());
    auto const refuses = [&](auto change) {
        auto other = f;
        change(other);
        return other.chooses(m) == match::no;
    };
    BOOST_TEST(refuses([&](filter& o) { o.since = sent + 1ms; }));
    BOOST_TEST(refuses([&](filter& o) { o.until = sent; }));
    BOOST_TEST(refuses([&](filter& o) { o.id = "other"; }));
    BOOST_TEST(refuses([&](filter& o) { o.group = "h"; }));
    BOOST_TEST(refuses([&](filter& o) { o.where.push_back(parse_where("attr.k = 1").value()); }));
    f.where.push_back(parse_where_body("/a = 1").value());
    BOOST_TEST(shown(f.chooses(m)) == "unreadable"); // the body is no JSON
    BOOST_TEST(refuses([&](filter& o) { o.id = "other"; }));
    BOOST_TEST(refuses([&](filter& o) { o.where.push_back(parse_where("attr.k = 1").value()); }));
}

BOOST_AUTO_TEST_CASE(a_moment_is_a_date_or_so_long_ago)
{
    wall_time const now{1'700'000'000s};
    BOOST_TEST(parse_moment("2023-11-14T22:13:20Z", now).value() == now);
    BOOST_TEST(parse_moment("90s", now).value() == now - 90s);
    BOOST_TEST(parse_moment("15m", now).value() == now - 15min);
    BOOST_TEST(parse_moment("2h", now).value() == now - 2h);
    BOOST_TEST(parse_moment("3d", now).value() == now - 72h);
    for (auto const* text : {"", "2", "yesterday", "-1h", "2023-11-14", "1w"})
        BOOST_TEST(!parse_moment(text, now).has_value(), text);
}

BOOST_AUTO_TEST_CASE(a_part_of_a_message_is_shown_as_text)
{
    struct row {
        std::string part, body, shown;
    };
    std::vector<row> const table{{"attr.k", "", "v"}, {"attr.other", "", "absent"}, {"/a", R"({"a": "x y"})", "x y"},
        {"/a/1", R"({"a": [1, 2.50]})", "2.50"}, {"/a", R"({"a": 8202522731445525543})", "8202522731445525543"},
        {"/a", R"({"a": {"b": [true, null]}})", R"({"b":[true,null]})"}, {"/a", R"({"b": 1})", "absent"},
        {"/a", "no JSON", "unreadable"}, {"/a~1b", R"({"a/b": 7})", "7"}};
    for (auto const& r : table) {
        BOOST_TEST_CONTEXT(r.part << " of " << r.body)
        {
            auto m = with("k", "String", "v");
            m.body = r.body;
            auto const made = parse_part(r.part);
            BOOST_REQUIRE(made.has_value());
            auto const found = made->of(m);
            BOOST_TEST((found.readable ? found.text.value_or("absent") : "unreadable") == r.shown);
            BOOST_TEST(made->text() == r.part);
        }
    }
}

BOOST_AUTO_TEST_CASE(what_is_no_part_is_refused_at_its_place)
{
    struct row {
        std::string text, mention;
    };
    for (auto const& r : std::vector<row>{{"", "at character 1: expected attr."}, {"version", "at character 1"},
             {"attr.", "at character 6: expected an attribute's name"}, {"attr.a b", "at character 6"},
             {"/a~2", "at character 3: in a JSON pointer ~ is written ~0"}}) {
        auto const made = parse_part(r.text);
        BOOST_REQUIRE(!made.has_value());
        BOOST_TEST(made.error().message.find(r.mention) != std::string::npos, made.error().message);
    }
}

BOOST_AUTO_TEST_SUITE_END()
