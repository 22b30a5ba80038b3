#include <quern/idempotency/detail/row.hpp>

#include <boost/test/unit_test.hpp>

using namespace quern;
using namespace quern::idempotency;
using namespace quern::idempotency::detail;
using namespace std::chrono_literals;
using services::attribute;

namespace {

row_names const names;

record done(std::optional<std::string> result)
{
    record out;
    out.is = record::state::completed;
    out.expires = wall_time(1'800'003'600s) + 900ms;
    out.owner = "o";
    out.result = std::move(result);
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(rows)

BOOST_AUTO_TEST_CASE(a_claim_is_written_as_powertools_does_with_our_owner_besides)
{
    record claim;
    claim.expires = wall_time(1'800'003'600s) + 900ms;
    claim.in_progress_until = wall_time(1'800'000'030s) + 123ms;
    claim.owner = "owner-of-22-characters";
    claim.validation = "abc";
    services::item const expected{{"status", attribute::text("INPROGRESS")}, {"expiration", {"N", "1800003600"}},
        {"in_progress_expiration", {"N", "1800000030123"}}, {"validation", attribute::text("abc")},
        {"quern_owner", attribute::text("owner-of-22-characters")}, {"quern_attempt", {"N", "3"}}};
    BOOST_TEST(to_item(claim, names, flavour::python, 3) == expected);
    BOOST_TEST(to_item(claim, names, flavour::typescript, 3) == expected);
    BOOST_TEST(to_item(claim, names, flavour::java, 3) == expected);
    BOOST_TEST(to_item(claim, names, flavour::quern, 3) == expected);
}

BOOST_AUTO_TEST_CASE(a_result_is_stored_as_each_language_stores_it)
{
    auto const json = std::string(R"({"a":[1,"x",null,true],"b":{}})");
    auto const data = [](std::optional<std::string> result, flavour as) {
        auto const item = to_item(done(std::move(result)), names, as);
        auto const at = item.find("data");
        return at == item.end() ? attribute{"none", ""} : at->second;
    };
    for (auto const as : {flavour::python, flavour::java, flavour::quern})
        BOOST_TEST(data(json, as) == attribute::text(json));
    BOOST_TEST(data(json, flavour::typescript) ==
        (attribute{"M", R"({"a":{"L":[{"N":"1"},{"S":"x"},{"NULL":true},{"BOOL":true}]},"b":{"M":{}}})"}));
    BOOST_TEST(data("\"t\"", flavour::typescript) == attribute::text("t"));
    BOOST_TEST(data("2.5", flavour::typescript) == (attribute{"N", "2.5"}));
    BOOST_TEST(data({}, flavour::python) == attribute::text("null"));
    for (auto const as : {flavour::typescript, flavour::java, flavour::quern})
        BOOST_TEST(data({}, as) == (attribute{"none", ""}));
}

BOOST_AUTO_TEST_CASE(what_was_written_is_read)
{
    for (auto const as : {flavour::quern, flavour::python, flavour::typescript, flavour::java}) {
        for (auto const* json :
            {R"({"a":[1,"x",null,true],"b":{"c":-2.5}})", "\"text\"", "7", "null", "[]", "false"}) {
            auto const back = to_record(to_item(done(json), names, as), names, as);
            BOOST_TEST(back.result.value() == json);
            BOOST_TEST(back.is == record::state::completed);
            BOOST_TEST(back.expires == wall_time(1'800'003'600s));
            BOOST_TEST(back.owner == "o");
        }
    }
}

BOOST_AUTO_TEST_CASE(rows_of_others_are_read_as_far_as_they_go)
{
    auto const read = [](services::item const& item) { return to_record(item, names, flavour::python); };
    auto const bare = read({{"id", attribute::text("k")}});
    BOOST_TEST(bare.is == record::state::in_progress);
    BOOST_TEST(!is_free(&bare, wall_time(1'800'000'000s))); // as the condition has it: what is not there is not over
    BOOST_TEST(bare.owner.empty());
    auto const fraction = read({{"status", attribute::text("INPROGRESS")}, {"expiration", {"N", "1800003600"}},
        {"in_progress_expiration", {"N", "1800000030123.4"}}});
    BOOST_TEST(fraction.in_progress_until == wall_time(1'800'000'030s) + 123ms);
    auto const huge = read({{"expiration", {"N", "99999999999999999"}}, {"in_progress_expiration", {"N", "-5"}}});
    BOOST_TEST(!is_free(&huge, wall_time(-1s)));
    auto const wrong =
        read({{"status", {"N", "1"}}, {"expiration", attribute::text("x")}, {"data", {"BOOL", "true"}}});
    BOOST_TEST(wrong.is == record::state::in_progress);
    BOOST_TEST(wrong.result.value() == "true");
}

// An exception out of a library: it reads a type as what it is said to be.
BOOST_AUTO_TEST_CASE(a_result_whose_types_lie_is_read_as_far_as_it_goes)
{
    auto const read = [](char const* type, char const* value) {
        return to_record({{"data", {type, value}}}, names, flavour::typescript).result.value();
    };
    BOOST_TEST(read("M", R"({"a":{"M":[1]},"b":{"L":{}},"c":{"N":7},"d":{"N":"7"}})") ==
        R"({"a":null,"b":null,"c":null,"d":7})");
    BOOST_TEST(read("M", "[]") == "null");
    BOOST_TEST(read("L", "\"x\"") == "null");
}

BOOST_AUTO_TEST_SUITE_END()
