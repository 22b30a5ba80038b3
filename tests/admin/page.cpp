#include <quern/admin/door.hpp>

#include "support/occurrences.hpp"

#include <quern/core/detail/text/base64.hpp>
#include <quern/core/detail/text/digest.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

using namespace quern;
using namespace quern::detail;

namespace {

std::string_view between(std::string_view text, std::string_view from, std::string_view to)
{
    auto const at = text.find(from) + from.size();
    return text.substr(at, text.find(to, at) - at);
}

} // namespace

BOOST_AUTO_TEST_SUITE(live_page)

BOOST_AUTO_TEST_CASE(the_page_holds_all_that_it_needs)
{
    auto const page = admin::page();
    BOOST_TEST(page.starts_with("<!DOCTYPE html>"));
    BOOST_TEST(page.ends_with("</html>\n"));
    BOOST_TEST(test::occurrences(page, "http") ==
        test::occurrences(page, "http://www.w3.org/2000/svg")); // a name, which nobody fetches
    for (auto const* other : {"src=", "url(", "@import", "import(", "<iframe", "<form", "<base"})
        BOOST_TEST(test::occurrences(page, other) == 0u, other);
}

BOOST_AUTO_TEST_CASE(its_policy_allows_what_stands_in_it_and_nothing_else)
{
    auto const page = admin::page();
    auto const policy = admin::page_policy();
    for (std::string const tag : {"script", "style"}) {
        BOOST_TEST(test::occurrences(page, '<' + tag) == 1u, tag);
        auto const inside = between(page, '<' + tag + '>', "</" + tag + '>');
        auto const digest = text::sha256(inside);
        auto const source = tag + "-src 'sha256-" + text::base64_encode(text::bytes_of(digest)) + "';";
        BOOST_TEST(policy.find(source) != policy.npos, source << " is not in " << policy);
    }
    BOOST_TEST(policy.starts_with("default-src 'none'; "));
    BOOST_TEST(test::occurrences(policy, "unsafe") == 0u);
    BOOST_TEST(test::occurrences(page, "style=\"") == 0u); // would be refused
    for (auto const* handler : {"onclick=", "onload=", "onerror=\"", "javascript:"})
        BOOST_TEST(test::occurrences(page, handler) == 0u, handler);
}

BOOST_AUTO_TEST_CASE(what_strangers_wrote_never_becomes_markup)
{
    for (auto const* way :
        {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"})
        BOOST_TEST(test::occurrences(admin::page(), way) == 0u, way);
}

BOOST_AUTO_TEST_CASE(every_place_that_the_script_fills_is_there)
{
    auto const page = admin::page();
    std::size_t found = 0;
    for (auto at = page.find("parts."); at != page.npos; at = page.find("parts.", at + 1)) {
        auto const rest = page.substr(at + 6);
        auto const name = std::string(rest.substr(0, rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz_")));
        BOOST_TEST(test::occurrences(page, "data-is=\"" + name + '"') == 1u, name);
        ++found;
    }
    BOOST_TEST(found > 10u);
}

BOOST_AUTO_TEST_SUITE_END()
