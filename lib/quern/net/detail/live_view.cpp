#include <quern/net/detail/live_view.hpp>

#include <quern/core/detail/text/base64.hpp>
#include <quern/core/detail/text/digest.hpp>

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

namespace quern::net::detail {

using namespace quern::detail;
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

web_answer answer_of(std::string_view type, std::string body, int status = 200)
{
    web_answer out;
    out.status = status;
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
{
    auto& routes = options_.routes;
    routes.push_back(
        {"/explain", [this](auto&, auto) { return answer_of("application/json", options_.picture() + '\n'); }});
    routes.push_back({"/events", [this](auto&, auto) {
                          auto out = answer_of("text/event-stream", "retry: 2000\n\n" + event());
                          out.follows = true;
                          return out;
                      }});
    routes.push_back({"/", [this](auto&, auto) {
                          auto out = answer_of("text/html; charset=utf-8", std::string(options_.page));
                          out.content_security = policy_;
                          return out;
                      }});
}

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
    auto const at = std::ranges::find(options_.routes, r.path, &live_route::path);
    if (at == options_.routes.end()) {
        std::string known;
        for (auto const& one : options_.routes)
            known.append(known.empty() ? "Here are " : ", ").append(one.path);
        return answer_of("text/plain; charset=utf-8", known + '\n', 404);
    }
    bool const acts = r.method == "POST";
    if (acts == at->acts) return at->answer(r, web.token());
    auto out =
        answer_of("text/plain; charset=utf-8", acts ? "This is to be looked at.\n" : "An action is a POST.\n", 405);
    if (at->acts) out.allow = web.token().empty() ? "" : "POST";
    return out;
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

} // namespace quern::net::detail

namespace quern::net {

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
