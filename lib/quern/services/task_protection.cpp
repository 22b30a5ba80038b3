#include <quern/services/task_protection.hpp>

#include <quern/core/alarm.hpp>
#include <quern/services/detail/protection_rule.hpp>

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <list>
#include <utility>

namespace quern::services {

using namespace detail;
namespace asio = boost::asio;
using namespace std::chrono_literals;
using step = protection_rule::step;

namespace {

constexpr auto patience_at_begin = 1s, patience_at_end = 2s;

} // namespace

std::optional<task_protection_options> task_protection_options::from(aws::environment const& variable)
{
    auto where = variable("ECS_AGENT_URI");
    if (where.empty()) return {};
    task_protection_options out;
    out.agent = std::move(where);
    return out;
}

std::optional<failure> task_protection_options::validate() const
{
    auto const at = net::parse_url(agent);
    if (!at) return failure(errc::invalid_option, "task protection: ECS_AGENT_URI: " + at.error().message);
    if (expires < 1min || expires > 48h)
        return failure(errc::invalid_option, "task protection: expires must be from 1 minute to 48 hours");
    return {};
}

struct task_protection::state : std::enable_shared_from_this<state> {
    state(asio::any_io_executor ex, task_protection_options o)
        : executor(ex), options(std::move(o)), time(options.time ? *options.time : real_clock()),
          rule({options.expires, options.patience, options.linger}), bell(time, ex), over(time, ex)
    {
        if (!options.http) options.http = aws::real_web(ex);
    }

    aws::web_request request(char const* method) const
    {
        aws::web_request out(options.agent + "/task-protection/v1/state");
        out.method = method;
        out.timeout = options.timeout;
        out.is_next_door = true;
        return out;
    }

    void tell(std::string const& why)
    {
        if (options.trouble && std::exchange(told, why) != why) options.trouble(why);
    }

    void wake_waiters()
    {
        for (auto* const one : waiters)
            one->ring();
    }

    asio::awaitable<void> ask(step what)
    {
        bool const on = what == step::protect;
        auto put = request("PUT");
        put.headers.emplace_back("content-type", "application/json");
        put.body = on
            ? "{\"ProtectionEnabled\":true,\"ExpiresInMinutes\":" + std::to_string(options.expires.count()) + "}"
            : "{\"ProtectionEnabled\":false}";
        auto const answer = co_await options.http->send(std::move(put));
        protection_reply said{protection_rule::answer::silent, {}};
        if (answer)
            said = read_protection_reply(answer->status, answer->body, on);
        else
            said.why = describe(answer.error());
        rule.answered(said.what, time.now());
        if (said.what == protection_rule::answer::done)
            told.clear();
        else
            tell((on ? "the task could not be protected: " : "the protection could not be taken away: ") + said.why);
        wake_waiters();
    }

    asio::awaitable<void> run()
    {
        for (;;) {
            auto const what = rule.poll(time.now());
            if (what != step::nothing) {
                co_await ask(what);
                continue;
            }
            auto const at = rule.wake_at();
            if (ending && !at) break;
            co_await bell.wait(at);
        }
    }

    asio::awaitable<void> look()
    {
        auto get = request("GET");
        auto const answer = co_await options.http->send(std::move(get));
        if (answer)
            rule.heard(time.now());
        else
            tell("ECS's agent does not answer: " + describe(answer.error()));
        over.ring();
    }

    void spawn(asio::awaitable<void> work)
    {
        asio::co_spawn(executor, std::move(work), [self = shared_from_this()](std::exception_ptr bug) {
            if (bug) std::rethrow_exception(bug);
            self->over.ring();
        });
    }

    asio::any_io_executor const executor;
    task_protection_options options;
    clock& time;
    protection_rule rule;
    alarm bell, over;
    std::list<alarm*> waiters;
    std::string told;
    bool ending = false, running = false;
};

task_protection::task_protection(asio::any_io_executor ex, task_protection_options o)
    : state_(std::make_shared<state>(std::move(ex), std::move(o)))
{}

task_protection::~task_protection()
{
    state_->ending = true;
    state_->rule.finish(state_->time.now());
    state_->bell.ring();
}

task_protection::held::held(std::shared_ptr<state> at) : at_(std::move(at))
{
    at_->rule.began(at_->time.now());
    at_->bell.ring();
}

task_protection::held::~held()
{
    if (!at_) return;
    at_->rule.ended(at_->time.now());
    at_->bell.ring();
}

asio::awaitable<void> task_protection::begin()
{
    auto const at = state_;
    at->spawn(at->look());
    auto const until = at->time.now() + patience_at_begin;
    co_await at->over.wait(until);
    at->running = true;
    auto const work = [at]() -> asio::awaitable<void> {
        co_await at->run();
        at->running = false;
    };
    asio::co_spawn(at->executor, work, [at](std::exception_ptr bug) {
        if (bug) std::rethrow_exception(bug);
        at->over.ring();
    });
}

asio::awaitable<task_protection::held> task_protection::hold()
{
    auto const at = state_;
    held out(at);
    std::optional<tick> until;
    while ((until = at->rule.wait_until(at->time.now()))) {
        alarm mine(at->time, at->executor);
        auto const place = at->waiters.insert(at->waiters.end(), &mine);
        co_await mine.wait(until);
        at->waiters.erase(place);
    }
    co_return out;
}

asio::awaitable<void> task_protection::end()
{
    auto const at = state_;
    at->ending = true;
    at->rule.finish(at->time.now());
    at->bell.ring();
    auto const until = at->time.now() + patience_at_end;
    bool in_time = true;
    while (at->running && in_time)
        in_time = co_await at->over.wait(until);
}

bool task_protection::is_on() const
{
    return state_->rule.is_on();
}

} // namespace quern::services
