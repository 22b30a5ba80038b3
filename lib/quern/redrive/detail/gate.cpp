#include <quern/redrive/detail/gate.hpp>

#include <boost/asio/this_coro.hpp>

namespace quern::redrive::detail {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr auto halt_every = 1s; // asked whether work may go on

/// An alarm among those that ring when the rules may answer otherwise, as long as it lives.
struct listed_alarm {
    listed_alarm(std::list<alarm*>& all, clock& time, asio::any_io_executor const& ex)
        : it(time, ex), all_(all), place_(all.insert(all.end(), &it))
    {}
    ~listed_alarm() { all_.erase(place_); }
    listed_alarm(listed_alarm const&) = delete;
    listed_alarm& operator=(listed_alarm const&) = delete;

    alarm it;

private:
    std::list<alarm*>& all_;
    std::list<alarm*>::iterator place_;
};

} // namespace

void gate::wake()
{
    for (auto* one : waiting_)
        one->ring();
}

void gate::close()
{
    closed_ = true;
    wake();
}

asio::awaitable<void> gate::until(tick at)
{
    auto const here = co_await asio::this_coro::executor;
    listed_alarm mine(waiting_, time_, here);
    while (!closed_ && time_.now() < at)
        co_await mine.it.wait(at);
}

/// Notices when a run that waits is halted, and when it goes on.
void gate::note_halt(std::optional<std::string> const& why)
{
    if (why.has_value() == halted_since_.has_value()) return;
    auto const now = time_.now();
    if (halted_since_) rule_.halted(*halted_since_, now);
    halted_since_ = why ? std::optional(now) : std::nullopt;
    if (o_.log) o_.log(log_level::warning, why ? "redrive: halted: " + *why : std::string("redrive: goes on"));
}

run_rule::turn gate::ask(bool paced, bool again)
{
    auto const why = o_.halted ? o_.halted() : std::nullopt;
    if (o_.waits_when_halted) note_halt(why);
    if (why && o_.waits_when_halted) return {run_rule::answer::wait, time_.now() + halt_every};
    if (why) rule_.stop("CircuitBreakerOpen: " + *why);
    if (why) news_.ring();
    return rule_.ask(time_.now(), paced, again);
}

asio::awaitable<run_rule::answer> gate::turn(bool paced, bool again)
{
    auto said = ask(paced, again);
    if (said.what == run_rule::answer::wait && !closed_) {
        auto const here = co_await asio::this_coro::executor;
        listed_alarm mine(waiting_, time_, here);
        while (said.what == run_rule::answer::wait && !closed_) {
            co_await mine.it.wait(said.at);
            if (!closed_) said = ask(paced, again);
        }
    }
    co_return closed_ ? run_rule::answer::stopped : said.what;
}

} // namespace quern::redrive::detail
