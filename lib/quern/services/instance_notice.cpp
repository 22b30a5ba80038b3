#include <quern/services/instance_notice.hpp>

#include <quern/core/alarm.hpp>
#include <quern/core/detail/text/date.hpp>
#include <quern/core/simdjson.hpp>

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <utility>

namespace quern::services {

using namespace quern::detail;
namespace asio = boost::asio;
using namespace std::chrono_literals;
using kind = instance_notice::kind;

namespace {

constexpr struct {
    kind what;
    std::string_view name, path;
} notices[] = {
    {kind::spot, "spot", "/latest/meta-data/spot/instance-action"},
    {kind::rebalance, "rebalance", "/latest/meta-data/events/recommendations/rebalance"},
    {kind::scale_in, "scale-in", "/latest/meta-data/autoscaling/target-lifecycle-state"},
};

/// The time at that member of an object; nothing where there is none.
std::optional<wall_time> time_in(std::string_view json, std::string_view name)
{
    namespace od = simdjson::ondemand;
    od::parser parser;
    simdjson::padded_string const padded(json);
    od::document document;
    std::string_view out;
    if (parser.iterate(padded).get(document) || document[name].get_string().get(out)) return {};
    return text::parse_rfc3339(out);
}

} // namespace

std::string_view name_of(kind what)
{
    return std::ranges::find(notices, what, [](auto const& n) { return n.what; })->name;
}

std::optional<kind> notice_kind(std::string_view name)
{
    for (auto const& one : notices)
        if (one.name == name) return one.what;
    return {};
}

std::string_view path_of(kind what)
{
    return std::ranges::find(notices, what, [](auto const& n) { return n.what; })->path;
}

std::optional<instance_notice> notice_in(kind what, int status, std::string_view body)
{
    if (status != 200) return {};
    if (what == kind::scale_in) {
        while (!body.empty() && static_cast<unsigned char>(body.back()) <= ' ')
            body.remove_suffix(1);
        if (body == "Terminated" || body.ends_with(":Terminated")) return instance_notice{what};
        return {};
    }
    auto const at = time_in(body, what == kind::spot ? "time" : "noticeTime");
    if (!at) return {};
    return instance_notice{what, at};
}

bool is_for(instance_notice const& n, wall_time began)
{
    return n.what != kind::rebalance || !n.at || *n.at >= began;
}

std::chrono::milliseconds drain_within(instance_notice const& n, std::chrono::milliseconds usual, wall_time now)
{
    if (n.what != kind::spot || !n.at) return usual;
    auto const left = std::chrono::floor<std::chrono::milliseconds>(*n.at - now) - 5s;
    return std::min(usual, std::max<std::chrono::milliseconds>(left, 1s));
}

struct notice_watch::state : std::enable_shared_from_this<state> {
    state(asio::any_io_executor ex, notice_watch_options o, std::function<void(instance_notice const&)> f)
        : executor(ex), options(std::move(o)), time(options.time ? *options.time : real_clock()), told(std::move(f)),
          began(time.wall()), bell(time, ex)
    {
        if (!options.http) options.http = aws::real_web(ex);
    }

    asio::awaitable<result<net::response>> ask(char const* method, std::string_view path)
    {
        aws::web_request r(options.service.url + std::string(path));
        r.method = method;
        r.timeout = options.service.timeout;
        r.is_next_door = true;
        if (token.empty())
            r.headers.emplace_back("x-aws-ec2-metadata-token-ttl-seconds", "21600");
        else
            r.headers.emplace_back("x-aws-ec2-metadata-token", token);
        auto answer = co_await options.http->send(std::move(r));
        co_return answer;
    }

    /// False: nobody answers.
    asio::awaitable<bool> renew_token()
    {
        token.clear();
        auto answer = co_await ask("PUT", "/latest/api/token");
        if (answer && answer->status == 200) token = std::move(answer->body);
        if (token.empty() && options.trouble && !std::exchange(complained, true))
            options.trouble("nobody tells of instance notices at " + options.service.url +
                (answer ? ": HTTP " + std::to_string(answer->status) : ": " + describe(answer.error())));
        co_return !token.empty();
    }

    asio::awaitable<void> run()
    {
        while (!over) {
            bool answers = !token.empty();
            if (!answers) answers = co_await renew_token();
            for (auto const one : options.kinds) {
                if (!answers || over) break;
                auto const answer = co_await ask("GET", path_of(one));
                if (!answer || answer->status == 401) token.clear();
                answers = answer.has_value() && answer->status != 401;
                if (!answers || over) break;
                auto const found = notice_in(one, answer->status, answer->body);
                if (!found || !is_for(*found, began)) continue;
                told(*found);
                co_return;
            }
            auto const next = time.now() + (answers ? options.every : std::max(options.every, pause()));
            if (!over) co_await bell.wait(next);
        }
    }

    /// A token that was refused is renewed at once.
    std::chrono::milliseconds pause() { return complained ? 60s : 0s; }

    asio::any_io_executor const executor;
    notice_watch_options options;
    clock& time;
    std::function<void(instance_notice const&)> const told;
    wall_time const began;
    alarm bell;
    std::string token;
    bool complained = false, over = false;
};

notice_watch::notice_watch(
    asio::any_io_executor ex, notice_watch_options o, std::function<void(instance_notice const&)> told)
    : state_(std::make_shared<state>(std::move(ex), std::move(o), std::move(told)))
{}

notice_watch::~notice_watch()
{
    state_->over = true;
    state_->bell.ring();
}

void notice_watch::begin()
{
    auto const work = [at = state_]() -> asio::awaitable<void> { co_await at->run(); };
    asio::co_spawn(state_->executor, work, [](std::exception_ptr bug) {
        if (bug) std::rethrow_exception(bug);
    });
}

} // namespace quern::services
