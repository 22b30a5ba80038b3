#include <quern/telemetry/trace_context.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

using namespace quern::telemetry;

namespace {

constexpr std::string_view trace = "4bf92f3577b34da6a3ce929d0e0e4736", span = "00f067aa0ba902b7";

std::string parent(std::string_view version, std::string_view flags)
{
    return std::string(version) + '-' + std::string(trace) + '-' + std::string(span) + '-' + std::string(flags);
}

std::string with_zeros(std::string text, std::string_view part)
{
    return text.replace(text.find(part), part.size(), std::string(part.size(), '0'));
}

} // namespace

BOOST_AUTO_TEST_CASE(a_traceparent_is_read_or_there_is_none)
{
    struct {
        std::string text;
        bool is_one, sampled;
    } const table[] = {
        {parent("00", "01"), true, true},
        {parent("00", "00"), true, false},
        {parent("00", "03"), true, true},
        {parent("00", "fe"), true, false},
        {" \t" + parent("00", "01") + " ", true, true},
        {parent("01", "01"), true, true}, // of a version to come
        {parent("01", "01") + "-more", true, true},
        {parent("cc", "01-"), true, true},
        {parent("01", "01") + ".more", false, false},
        {parent("00", "01") + "-more", false, false},
        {parent("00", "01-"), false, false},
        {parent("ff", "01"), false, false},
        {parent("0", "01"), false, false},
        {parent("0G", "01"), false, false},
        {parent("00", "0"), false, false},
        {parent("00", "0x"), false, false},
        {with_zeros(parent("00", "01"), trace), false, false},
        {with_zeros(parent("00", "01"), span), false, false},
        {"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", false, false},
        {"00-4bf92f3577b34da6a3ce929d0e0e4736-00F067AA0BA902B7-01", false, false},
        {"00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01", false, false},
        {"00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01", false, false},
        {"", false, false},
        {"00", false, false},
        {std::string(55, '-'), false, false},
        {std::string(55, '\0'), false, false},
        {std::string(100'000, 'a'), false, false},
    };
    for (auto const& row : table) {
        auto const got = read_traceparent(row.text);
        BOOST_TEST_CONTEXT(row.text.substr(0, 80))
        {
            BOOST_TEST(got.has_value() == row.is_one);
            if (!got) continue;
            BOOST_TEST(got->sampled == row.sampled);
            BOOST_TEST(!got->undecided);
            BOOST_TEST(text_of(got->trace) == trace);
            BOOST_TEST(text_of(got->span) == span);
            BOOST_TEST(traceparent(*got) == parent("00", row.sampled ? "01" : "00"));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_tracestate_is_tidied_or_dropped)
{
    auto const long_member = "big=" + std::string(200, 'x');
    std::string many, too_many;
    for (int i = 0; i < 33; ++i) {
        if (i < 32) many += (i != 0 ? ",k" : "k") + std::to_string(i) + "=v";
        too_many += (i != 0 ? ",k" : "k") + std::to_string(i) + "=v";
    }
    std::string five_hundred, kept; // ten members of 60 bytes, of which eight fit
    for (char c = 'a'; c < 'k'; ++c) {
        auto const one = std::string(1, c) + "=" + std::string(58, 'v');
        five_hundred += (c != 'a' ? "," : "") + one;
        if (c < 'i') kept += (c != 'a' ? "," : "") + one;
    }
    struct {
        std::string text, tidy;
    } const table[] = {
        {"rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"},
        {" rojo=1 ,\t, congo=2,", "rojo=1,congo=2"},
        {"fw529a3039@dt=a b;c:d", "fw529a3039@dt=a b;c:d"},
        {"0key=1", "0key=1"},
        {"a_-*/@b=~!", "a_-*/@b=~!"},
        {"", ""},
        {",,", ""},
        {"Rojo=1", ""},
        {"rojo", ""},
        {"rojo=", ""},
        {"=1", ""},
        {"rojo=1,rojo=2", ""},
        {"rojo=a=b", ""},
        {"ro jo=1", ""},
        {"rojo=\x01", ""},
        {"rojo=\xc3\xa4", ""},
        {std::string("rojo=1\0", 7), ""},
        {std::string(257, 'k') + "=1", ""},
        {"k=" + std::string(257, 'v'), ""},
        {many, many},
        {too_many, ""},
        {five_hundred, kept},
        {long_member + "," + kept.substr(0, kept.size() - 61), kept.substr(0, kept.size() - 61)},
    };
    for (auto const& row : table)
        BOOST_TEST(read_tracestate(row.text) == row.tidy);
}

BOOST_AUTO_TEST_CASE(a_state_counts_beside_a_parent_only)
{
    BOOST_TEST(read_w3c(parent("00", "01"), "a=1").value().state == "a=1");
    BOOST_TEST(read_w3c(parent("00", "01"), "A=1").value().state == "");
    BOOST_TEST(!read_w3c("", "a=1").has_value());
}

BOOST_AUTO_TEST_CASE(a_header_of_x_ray_is_read_or_there_is_none)
{
    constexpr std::string_view root = "Root=1-5759e988-bd862e3fe1be46a994272793", its = "Parent=53995c3f42cd8ad8";
    auto const both = std::string(root) + ';' + std::string(its);
    struct {
        std::string text;
        bool is_one, sampled, undecided;
    } const table[] = {
        {both + ";Sampled=1", true, true, false},
        {both + ";Sampled=0", true, false, false},
        {both + ";Sampled=?", true, false, true},
        {both + ";Sampled=2", true, false, true},
        {both, true, false, true},
        {"Sampled=1; " + std::string(its) + " ;Lineage=a87bd80c:0; " + std::string(root) + ";", true, true, false},
        {"Self=1-67891234-12456789abcdef012345678;" + both + ";Sampled=1", true, true, false},
        {"Root=1-5759E988-BD862E3FE1BE46A994272793;Parent=53995C3F42CD8AD8;Sampled=1", true, true, false},
        {";;=;;" + both + ";Sampled=1;=", true, true, false},
        {std::string(root) + ";Sampled=1", false, false, false},
        {std::string(its) + ";Sampled=1", false, false, false},
        {"root=1-5759e988-bd862e3fe1be46a994272793;" + std::string(its), false, false, false},
        {"Root=2-5759e988-bd862e3fe1be46a994272793;" + std::string(its), false, false, false},
        {"Root=1-5759e988bd862e3fe1be46a994272793;" + std::string(its), false, false, false},
        {"Root=1-5759e988-bd862e3fe1be46a99427279;" + std::string(its), false, false, false},
        {"Root=1-5759e988-bd862e3fe1be46a99427279x;" + std::string(its), false, false, false},
        {"Root=1-00000000-000000000000000000000000;" + std::string(its), false, false, false},
        {std::string(root) + ";Parent=0000000000000000", false, false, false},
        {std::string(root) + ";Parent=53995c3f42cd8ad", false, false, false},
        {both + ";Root=", false, false, false},
        {"", false, false, false},
        {std::string(100'000, ';'), false, false, false},
    };
    for (auto const& row : table) {
        BOOST_TEST_CONTEXT(row.text.substr(0, 120))
        {
            auto const got = read_xray(row.text);
            BOOST_TEST(got.has_value() == row.is_one);
            if (!got) continue;
            BOOST_TEST(got->sampled == row.sampled);
            BOOST_TEST(got->undecided == row.undecided);
            BOOST_TEST(text_of(got->trace) == "5759e988bd862e3fe1be46a994272793");
            BOOST_TEST(text_of(got->span) == "53995c3f42cd8ad8");
            auto const mark = row.undecided ? "?" : row.sampled ? "1" : "0";
            BOOST_TEST(xray_header(*got) == both + ";Sampled=" + mark);
        }
    }
}

BOOST_AUTO_TEST_CASE(what_one_of_them_says_the_other_says_too)
{
    auto const w3c = read_w3c(parent("00", "01"), "a=1").value();
    auto const header = xray_header(w3c);
    BOOST_TEST(header == "Root=1-4bf92f35-77b34da6a3ce929d0e0e4736;Parent=00f067aa0ba902b7;Sampled=1");
    auto back = read_xray(header).value();
    BOOST_TEST(traceparent(back) == traceparent(w3c));
    BOOST_TEST(back.state.empty()); // there is no place for it
    back.state = w3c.state;
    BOOST_TEST(back == w3c);
}
