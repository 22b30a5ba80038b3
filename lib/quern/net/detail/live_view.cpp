#include <quern/net/detail/live_view.hpp>

#include <quern/core/detail/text/base64.hpp>
#include <quern/core/detail/text/digest.hpp>

#include <boost/asio/co_spawn.hpp>

#include <exception>
#include <new>
#include <utility>

namespace quern::net {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::milliseconds tell_every{1'000};

/// 'sha256-…' of what stands between the tags of this name.
std::string source_of(std::string_view page, std::string_view tag)
{
    auto const open = '<' + std::string(tag) + '>', close = "</" + std::string(tag) + '>';
    auto const from = page.find(open) + open.size();
    auto const inside = page.substr(from, page.find(close, from) - from);
    auto const digest = text::sha256(inside);
    return "'sha256-" + text::base64_encode(text::bytes_of(digest)) + '\'';
}

web_answer answer_of(std::string_view type, std::string body)
{
    web_answer out;
    out.content_type = type;
    out.body = std::move(body);
    return out;
}

} // namespace

std::string page_policy(std::string_view page)
{
    return "default-src 'none'; script-src " + source_of(page, "script") + "; style-src " + source_of(page, "style") +
        "; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
}

live_view::live_view(asio::any_io_executor ex, live_view_options options, clock& time)
    : web(
          ex, options.web, [this](web_request const& r) { return serve(r); }, time),
      options_(std::move(options)), time_(time), executor_(ex), policy_(page_policy(options_.page)), again_(time, ex)
{}

result<void> live_view::listen()
{
    auto const listening = web.listen();
    if (!listening) return listening.error();
    auto const self = shared_from_this();
    asio::co_spawn(executor_, tell(), [self](std::exception_ptr bug) {
        if (bug) std::rethrow_exception(bug);
    });
    return {};
}

void live_view::close()
{
    closed_ = true;
    web.close();
    again_.ring();
}

web_answer live_view::serve(web_request const& r) const
{
    bool const looks = r.method == "GET";
    if (looks && r.path == "/explain") return answer_of("application/json", options_.picture() + '\n');
    if (looks && (r.path == "/livez" || r.path == "/readyz" || r.path == "/startupz")) return options_.probe(r);
    if (looks && r.path == "/metrics" && options_.metrics) return options_.metrics(r);
    if (looks && r.path == "/events") {
        auto out = answer_of("text/event-stream", "retry: 2000\n\n" + event());
        out.follows = true;
        return out;
    }
    if (looks && r.path == "/") {
        auto out = answer_of("text/html; charset=utf-8", std::string(options_.page));
        out.content_security = policy_;
        return out;
    }
    if (options_.other) {
        auto said = options_.other(r, web.token());
        if (said.status != 404 || !said.body.empty()) return said;
    }
    web_answer none;
    none.status = 404;
    none.body = "Here are /, /livez, /readyz, /startupz, /explain and /events";
    none.body.append(options_.metrics ? ", and /metrics\n" : "\n");
    return none;
}

asio::awaitable<void> live_view::tell()
{
    while (!closed_) {
        auto const until = time_.now() + tell_every;
        co_await again_.wait(until);
        if (closed_ || web.counters().followers == 0) continue;
        try {
            auto const piece = event();
            web.tell(piece);
        } catch (std::bad_alloc const&) {
            // A page must not end the program that it shows: nobody sees this second.
        }
    }
}

result<void> live_door::listen()
{
    return view_->listen();
}

std::uint16_t live_door::port() const
{
    return view_->web.port();
}

std::string live_door::url() const
{
    return view_->web.url();
}

void live_door::close()
{
    view_->close();
}

} // namespace quern::net
