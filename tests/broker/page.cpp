#include <quern/broker/door.hpp>

#include "support/occurrences.hpp"

#include <quern/broker/detail/metrics.hpp>

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <sstream>
#include <string>

using namespace quern;

BOOST_AUTO_TEST_SUITE(broker_page)

BOOST_AUTO_TEST_CASE(the_page_holds_all_that_it_needs)
{
    auto const page = broker::page();
    BOOST_TEST(page.starts_with("<!DOCTYPE html>"));
    BOOST_TEST(page.ends_with("</html>\n"));
    BOOST_TEST(test::occurrences(page, "@live_page") == 0u);
    for (auto const* tag : {"<script>", "<style>"})
        BOOST_TEST(test::occurrences(page, tag) == 1u, tag);
    for (auto const* other : {"http:", "https:", "src=", "url(", "@import", "import(", "<iframe", "<form", "<base"})
        BOOST_TEST(test::occurrences(page, other) == 0u, other);
    for (auto const* refused : {"style=\"", ".style.", "onclick=", "onload=", "javascript:"})
        BOOST_TEST(test::occurrences(page, refused) == 0u, refused);
}

BOOST_AUTO_TEST_CASE(what_strangers_wrote_never_becomes_markup)
{
    for (auto const* way : {"innerHTML", "outerHTML", "insertAdjacentHTML", "setHTML", "document.write", "DOMParser",
             "createContextualFragment", "eval(", "new Function", "srcdoc"})
        BOOST_TEST(test::occurrences(broker::page(), way) == 0u, way);
    BOOST_TEST(test::occurrences(broker::page(), "textContent") > 2u);
}

BOOST_AUTO_TEST_CASE(every_place_that_the_script_fills_is_there)
{
    auto const page = broker::page();
    std::size_t found = 0;
    for (std::string const call : {"byId('", "say('"}) {
        for (auto at = page.find(call); at != page.npos; at = page.find(call, at + 1)) {
            auto const rest = page.substr(at + call.size());
            auto const name = std::string(rest.substr(0, rest.find('\'')));
            BOOST_TEST(test::occurrences(page, "id=\"" + name + '"') == 1u, name);
            ++found;
        }
    }
    BOOST_TEST(found > 10u);
}

BOOST_AUTO_TEST_CASE(the_reference_has_every_metric_and_no_other)
{
    std::ifstream in("docs/reference/metrics.md"); // tests run at the root of the tree
    std::stringstream text;
    text << in.rdbuf();
    auto const page = text.str();
    for (auto const& m : broker::detail::metrics()) {
        std::ostringstream row;
        row << "| `" << m.name << "` | " << m.kind << " | " << m.labels << " | " << m.help << " |\n";
        BOOST_TEST(page.find(row.str()) != page.npos, row.str());
        BOOST_TEST(m.name.ends_with("_total") == (m.kind == "counter"), m.name);
    }
    BOOST_TEST(test::occurrences(page, "| `quern_broker_") == broker::detail::metrics().size());
}

BOOST_AUTO_TEST_SUITE_END()
