#include <quern/admin/door.hpp>

#include <quern/admin/detail/page_text.hpp>
#include <quern/core/alarm.hpp>
#include <quern/core/detail/text/base64.hpp>
#include <quern/core/detail/text/digest.hpp>

#include <boost/asio/co_spawn.hpp>

namespace quern::admin {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::milliseconds tell_every{1'000};

/// 'sha256-…' of what stands between the tags of this name.
std::string source_of(std::string_view tag)
{
    auto const open = '<' + std::string(tag) + '>', close = "</" + std::string(tag) + '>';
    auto const from = page_text.find(open) + open.size();
    auto const inside = page_text.substr(from, page_text.find(close, from) - from);
    auto const digest = text::sha256(inside);
    return "'sha256-" + text::base64_encode(text::bytes_of(digest)) + '\'';
}

net::web_answer answer_of(std::string_view type, std::string body)
{
    net::web_answer out;
    out.content_type = type;
    out.body = std::move(body);
    return out;
}

} // namespace

std::string_view page()
{
    return page_text;
}

std::string page_policy()
{
    return "default-src 'none'; script-src " + source_of("script") + "; style-src " + source_of("style") +
        "; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
}

class door::state : public std::enable_shared_from_this<state> {
public:
    state(asio::any_io_executor ex, door_options options, std::shared_ptr<board const> of, clock& time)
        : options_(std::move(options)), of_(std::move(of)), time_(time), executor_(ex), policy_(page_policy()),
          again_(time, ex), web(
                                ex, options_.web, [this](net::web_request const& r) { return serve(r); }, time)
    {}

    result<void> listen()
    {
        auto const listening = web.listen();
        if (!listening) return listening.error();
        auto const self = shared_from_this();
        asio::co_spawn(executor_, tell(), [self](std::exception_ptr) {});
        return {};
    }

    void close()
    {
        closed_ = true;
        web.close();
        again_.ring();
    }

private:
    net::web_answer serve(net::web_request const& r) const
    {
        auto const now = time_.now();
        auto const shown = of_->last();
        auto const& signs = shown->signs;
        if (r.path == "/livez") return probe(r, liveness(signs, options_.health, now));
        if (r.path == "/readyz") return probe(r, readiness(signs, options_.health, now));
        if (r.path == "/startupz") return probe(r, startup(signs));
        if (r.path == "/explain") return answer_of("application/json", json() + '\n');
        if (r.path == "/metrics" && options_.metrics)
            return answer_of("text/plain; version=0.0.4; charset=utf-8", options_.metrics());
        if (r.path == "/events") {
            auto out = answer_of("text/event-stream", "retry: 2000\n\n" + event());
            out.follows = true;
            return out;
        }
        if (r.path == "/") {
            auto out = answer_of("text/html; charset=utf-8", std::string(page_text));
            out.content_security = policy_;
            return out;
        }
        net::web_answer none;
        none.status = 404;
        none.body = "Here are /, /livez, /readyz, /startupz, /explain and /events";
        none.body.append(options_.metrics ? ", and /metrics\n" : "\n");
        return none;
    }

    net::web_answer probe(net::web_request const& r, health said) const
    {
        net::web_answer out;
        out.status = said.status;
        out.body = std::move(said.reason) + '\n';
        if (r.query == "verbose") out.body += details(of_->last()->signs, time_.now());
        return out;
    }

    std::string json() const
    {
        return to_json(*of_->last(), options_.health, options_.program, time_.now(), time_.wall());
    }
    std::string event() const { return "data: " + json() + "\n\n"; }

    asio::awaitable<void> tell()
    {
        while (!closed_) {
            auto const until = time_.now() + tell_every;
            co_await again_.wait(until);
            if (!closed_ && web.counters().followers != 0) web.tell(event());
        }
    }

    door_options const options_;
    std::shared_ptr<board const> const of_;
    clock& time_;
    asio::any_io_executor executor_;
    std::string const policy_;
    alarm again_;
    bool closed_ = false;

public:
    net::web_server web;
};

door::door(asio::any_io_executor ex, door_options options, std::shared_ptr<board const> of, clock& time)
    : state_(std::make_shared<state>(std::move(ex), std::move(options), std::move(of), time))
{}

door::~door()
{
    state_->close();
}

result<void> door::listen()
{
    return state_->listen();
}
std::uint16_t door::port() const
{
    return state_->web.port();
}
std::string door::url() const
{
    return state_->web.url();
}
void door::close()
{
    state_->close();
}

} // namespace quern::admin
