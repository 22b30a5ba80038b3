#include <quern/core/detail/text/xml.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

using quern::detail::text::read_xml;
using std::string;

BOOST_AUTO_TEST_SUITE(xml)

BOOST_AUTO_TEST_CASE(texts_are_found_by_their_path)
{
    auto const read =
        read_xml("<?xml version=\"1.0\"?>\n<A xmlns=\"https://x/\" b = 'c>d'>\n  <!-- <no/> -->\n"
                 "  <B><C>one</C><D/></B>\n  <E>a &lt;&amp;&gt; &quot;&apos; &#65;&#x20AC;</E >\n</A>\n");
    BOOST_REQUIRE(read.has_value());
    BOOST_TEST(read->root == "A");
    BOOST_TEST(read->get("B/C") == "one");
    BOOST_TEST(read->texts.contains("B/D"));
    BOOST_TEST(read->get("E") == "a <&> \"' A\xE2\x82\xAC");
    BOOST_TEST(read->get("B") == "");
    BOOST_TEST(read->get("C") == "");
    BOOST_TEST(read->texts.size() == 3u);
}

BOOST_AUTO_TEST_CASE(what_is_not_well_formed_or_never_sent_is_refused)
{
    for (string const bad : {"", " ", "text", "<", "<A", "<A>", "<A></B>", "<A><B></A></B>", "<A/><A/>", "<A/>x",
             "x<A/>", "<A>&#0;</A>", "<A>&nbsp;</A>", "<A>&amp</A>", "<A>& </A>", "<A>&#xD800;</A>", "<A>&#;</A>",
             "<A b></A>", "<A b=c></A>", "<A b=\"c></A>", "<A b=\"<\"></A>", "<Ab=\"1\"c></A>", "<!DOCTYPE A><A/>",
             "<A><![CDATA[x]]></A>", "<A>text<B/></A>", "<A><B/>text</A>", "</A>", "<A>&amp;<B/></A>", "&amp;<A/>",
             "<A><?pi?></A>", "<A><!-- </A>", "<?xml <A/>"}) {
        BOOST_TEST(!read_xml(bad), bad);
    }
}

BOOST_AUTO_TEST_CASE(depth_is_limited)
{
    auto const nested = [](int depth) {
        string text;
        for (int i = 0; i < depth; ++i)
            text += "<A>";
        for (int i = 0; i < depth; ++i)
            text += "</A>";
        return text;
    };
    BOOST_TEST(read_xml(nested(16)).has_value());
    BOOST_TEST(!read_xml(nested(17)).has_value());
    BOOST_TEST(!read_xml(nested(100'000)).has_value());
}

// Each element's path holds the names of all that it stands in: 16 long ones made a small document costly.
BOOST_AUTO_TEST_CASE(names_are_limited)
{
    auto const named = [](std::size_t size) {
        string const name(size, 'A');
        return "<B " + name + "=\"\"><" + name + "></" + name + "></B>";
    };
    BOOST_TEST(read_xml(named(100)).has_value());
    BOOST_TEST(!read_xml(named(101)).has_value());
}

BOOST_AUTO_TEST_CASE(a_document_that_is_cut_off_anywhere_is_refused)
{
    string const whole = "<?xml version=\"1.0\"?><A a=\"b\"><B>x &amp; y</B><!-- c --><C/></A>";
    BOOST_REQUIRE(read_xml(whole).has_value());
    for (std::size_t size = 0; size < whole.size(); ++size)
        BOOST_TEST(!read_xml(whole.substr(0, size)), whole.substr(0, size));
}

BOOST_AUTO_TEST_SUITE_END()
