#include <quern/net/detail/host_pool.hpp>
#include <quern/net/detail/web_hook_text.hpp>
#include <quern/net/web_hook.hpp>

#include <boost/test/unit_test.hpp>

using namespace quern;
using namespace quern::net::detail;
using namespace std::chrono_literals;
using net::header_problem;
using net::web_hook_fault;
using net::web_hook_reach;
using std::string;

namespace {

net::web_hook_request request_to(string const& url)
{
    return net::web_hook_request(net::parse_url(url).value());
}

bool is_refused(net::web_hook_request const& ask)
{
    auto const wrong = net::problem_of(ask);
    return wrong && wrong->code == make_error_code(errc::invalid_request);
}

} // namespace

BOOST_AUTO_TEST_SUITE(web_hook)

BOOST_AUTO_TEST_CASE(a_request_is_written_with_its_headers_in_order_between_host_and_length)
{
    auto ask = request_to("http://hook.example:8080/a/b?x=%20&y=1");
    ask.headers = {{"X-B", "2"}, {"x-a", ""}, {"X-B", "3\tand \xc3\xa9"}};
    ask.body = "body";
    BOOST_TEST(wire_text(ask) ==
        "POST /a/b?x=%20&y=1 HTTP/1.1\r\nHost: hook.example:8080\r\nX-B: 2\r\nx-a: \r\nX-B: 3\tand \xc3\xa9\r\n"
        "Content-Length: 4\r\n\r\nbody");
    auto get = request_to("https://[::1]");
    get.method = "GET";
    BOOST_TEST(wire_text(get) == "GET / HTTP/1.1\r\nHost: [::1]\r\n\r\n");
    get.method = "PUT"; // whose body is empty, and not absent
    BOOST_TEST(wire_text(get) == "PUT / HTTP/1.1\r\nHost: [::1]\r\nContent-Length: 0\r\n\r\n");
}

// Attributes of messages become headers: whoever may send one must not be able to end a line, or a request.
BOOST_AUTO_TEST_CASE(no_header_can_break_out_of_its_line)
{
    string const good = "X-Quern_Attr.1";
    BOOST_TEST(!header_problem(good, "any value: \"quoted\", \xff, and a\ttab"));
    for (auto const& value : {string("a\r\nX-Evil: 1"), string("a\nb"), string("a\rb"), string("a\0b", 3),
             string("\r"), string("a\r\n\r\nGET / HTTP/1.1\r\n\r\n"), string("\x1b[31m"), string("\x7f"),
             string("\x0b"), string("a\r\n b")}) {
        auto const why = header_problem(good, value);
        BOOST_REQUIRE(why);
        BOOST_TEST(why->find("X-Quern_Attr.1") != string::npos);
        BOOST_TEST(why->find("Evil") == string::npos);
    }
    for (auto const& name :
        {string(), string("X A"), string("X:"), string("X\r\nY"), string("X\0Y", 3), string("X\tY"),
            string("\xc3\xa9"), string("X(1)"), string(":authority"), string("X/Y"), string(" X"), string("X ")})
        BOOST_TEST(header_problem(name, "v").has_value(), name);
}

BOOST_AUTO_TEST_CASE(the_headers_that_frame_a_message_are_the_client_s_own_however_they_are_spelt)
{
    for (auto const* const name :
        {"Host", "hOST", "content-length", "Content_Length", "Transfer-Encoding", "TRANSFER_ENCODING", "Connection",
            "Keep-Alive", "Proxy-Connection", "Proxy-Authorization", "TE", "Trailer", "Upgrade", "Expect"}) {
        BOOST_TEST(net::is_own_header(name), name);
        BOOST_TEST(header_problem(name, "x").has_value(), name);
    }
    for (auto const* const name :
        {"Hosts", "X-Host", "Content-Type", "Content-Encoding", "Authorization", "T", "Via"})
        BOOST_TEST(!net::is_own_header(name), name);
}

BOOST_AUTO_TEST_CASE(a_request_that_would_be_read_as_another_is_refused)
{
    auto const good = request_to("http://hook.example/a");
    BOOST_TEST(!net::problem_of(good));
    for (auto const& method : {string(), string("GET /x HTTP/1.1\r\nHost: y\r\n\r\nPOST"), string("PO ST"),
             string("CONNECT"), string("connect"), string("TRACE"), string("P\nT")}) {
        auto ask = good;
        ask.method = method;
        BOOST_TEST(is_refused(ask), method);
    }
    for (auto const& path : {string(), string("a"), string("/a b"), string("/a\r\nX-Evil: 1"), string("/a\nb"),
             string("/a\0b", 4), string("/\xc3\xa9"), string("/a#b"), string("http://elsewhere/"), string("/\x7f")}) {
        auto ask = good;
        ask.to.path = path;
        BOOST_TEST(is_refused(ask), path);
    }
    for (auto const& host : {string(), string("a\r\nX-Evil: 1"), string("a b"), string("a/b"), string("u@h")}) {
        auto ask = good;
        ask.to.host = host;
        BOOST_TEST(is_refused(ask), host);
    }
    auto local = good;
    local.unix_socket = string(108, 'x');
    BOOST_TEST(is_refused(local));
    local.unix_socket = string("/tmp/a\0b", 8);
    BOOST_TEST(is_refused(local));
    for (auto const timeout : {0ms, -1ms, std::chrono::milliseconds(24h + 1ms)}) {
        auto ask = good;
        ask.timeout = timeout;
        BOOST_TEST(is_refused(ask));
    }
}

BOOST_AUTO_TEST_CASE(each_fault_says_how_far_the_request_can_have_come)
{
    using enum web_hook_fault;
    for (auto const fault : {invalid_request, busy, not_resolved, not_connected, proxy_refused, tls_failed,
             their_certificate, own_certificate})
        BOOST_TEST(net::reach_of(fault) == web_hook_reach::nothing, net::name(fault));
    for (auto const fault : {stale, closed, timed_out, cancelled})
        BOOST_TEST(net::reach_of(fault) == web_hook_reach::perhaps, net::name(fault));
    for (auto const fault : {cut_off, too_large, bad_answer})
        BOOST_TEST(net::reach_of(fault) == web_hook_reach::answered, net::name(fault));
}

BOOST_AUTO_TEST_CASE(a_connection_retires_within_its_last_fifth_so_that_not_all_do_together)
{
    tick const start{};
    BOOST_TEST(retirement(start, 60s, 0) - start == 60s);
    BOOST_TEST(retirement(start, 60s, 0.5) - start == 54s);
    BOOST_TEST(retirement(start, 60s, 1) - start == 48s);
    BOOST_TEST(retirement(start, 0s, 0.5) == start);
}

BOOST_AUTO_TEST_SUITE_END()
