#include <quern/flags/raiser.hpp>

#include <quern/flags/detail/raise_rule.hpp>

#include <boost/asio/co_spawn.hpp>

#include <utility>

namespace quern::flags {

using namespace detail;
namespace asio = boost::asio;
using namespace std::chrono_literals;

struct raiser::state {
    state(asio::any_io_executor ex, std::shared_ptr<policy::flag_source> where,
        std::function<void(std::string const&)> t, clock& c)
        : to(std::move(where)), trouble(std::move(t)), time(c), bell(c, ex), ended(c, ex)
    {}

    asio::awaitable<void> run()
    {
        for (;;) {
            auto const word = rule.poll(time.now());
            if (word) {
                std::string text = *word ? "open" : "closed";
                auto const done = co_await to->write(std::move(text));
                rule.written(done.has_value(), time.now());
                tell(done);
                continue;
            }
            auto const at = rule.wake_at();
            if (over && !at) break;
            co_await bell.wait(at);
        }
    }

    void tell(result<void> const& done)
    {
        auto why = done ? std::string() : to->name() + ": " + describe(done.error());
        if (!why.empty() && trouble && why != told) trouble(why);
        told = std::move(why);
    }

    std::shared_ptr<policy::flag_source> const to;
    std::function<void(std::string const&)> const trouble;
    clock& time;
    raise_rule rule;
    alarm bell, ended;
    std::string told;
    bool over = false, running = true;
};

raiser::raiser(asio::any_io_executor ex, std::shared_ptr<policy::flag_source> to,
    std::function<void(std::string const&)> trouble, clock& time)
    : state_(std::make_shared<state>(ex, std::move(to), std::move(trouble), time))
{
    auto const work = [at = state_]() -> asio::awaitable<void> { co_await at->run(); };
    asio::co_spawn(ex, work, [at = state_](std::exception_ptr bug) {
        at->running = false;
        at->ended.ring();
        if (bug) std::rethrow_exception(bug);
    });
}

raiser::~raiser()
{
    state_->over = true;
    state_->rule.finish(state_->time.now());
    state_->bell.ring();
}

void raiser::outage(bool suspected)
{
    state_->rule.outage(suspected, state_->time.now());
    state_->bell.ring();
}

asio::awaitable<void> raiser::end()
{
    auto const at = state_;
    at->over = true;
    at->rule.finish(at->time.now());
    at->bell.ring();
    auto const until = at->time.now() + 5s;
    bool in_time = true;
    while (at->running && in_time)
        in_time = co_await at->ended.wait(until);
}

} // namespace quern::flags
