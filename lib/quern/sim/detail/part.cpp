#include <quern/sim/detail/part.hpp>

#include <quern/sim/detail/downstream.hpp>

#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <stdexcept>

namespace quern::sim::detail {

namespace asio = boost::asio;
using std::chrono::milliseconds;

namespace {

constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;

double chance(std::mt19937_64& random)
{
    return static_cast<double>(random() >> 11) * 0x1p-53;
}

bool is_down(scenario const& day, int number, tick now)
{
    auto const tenant = tenant_of(day, number);
    return std::ranges::any_of(day.spells,
        [=](spell const& s) { return covers(s, tenant) && now >= tick() + s.from && now < tick() + s.until; });
}

} // namespace

bool covers(spell const& s, int tenant)
{
    return s.dependency_down || (s.tenants_down >> tenant & 1) != 0;
}

/// Draws how long a call takes downstream; at least 1 ms.
milliseconds draw_call(scenario const& day, std::mt19937_64& random)
{
    auto const at = chance(random);
    auto const mean = static_cast<double>(day.call_takes.count());
    auto share = -std::log(1 - at);
    if (day.calls == call_times::bimodal) share = at < 0.9 ? 0.2 : 8.2;
    return std::max(milliseconds(1), milliseconds(std::llround(mean * share)));
}

part draw_part(scenario const& day, int number, int receive_count, bool again, tick now)
{
    auto const spread = static_cast<std::uint64_t>(number) * 1'000'003 + static_cast<std::uint64_t>(receive_count);
    std::mt19937_64 random(day.seed * golden + spread);
    milliseconds const lease = day.consumer.visibility_timeout;
    auto const some = [&](milliseconds most) {
        return milliseconds(static_cast<std::int64_t>(chance(random) * static_cast<double>(most.count())));
    };
    part out;
    auto const& mix = day.handlers;
    auto const calm = receive_count > mix.troubled_tries;
    auto const slow = !calm && chance(random) < mix.slow;
    out.takes = some(slow ? 3 * lease : milliseconds(100));
    if (day.takes.count() != 0) out.takes = day.takes;
    out.delay = milliseconds(1'000) + some(milliseconds(89'000));
    if (!day.servers.empty()) out.call = draw_call(day, random);
    if (is_poisoned(day, number) || is_down(day, number, now)) {
        out.takes = some(milliseconds(100));
        out.what = part::kind::unavailable;
        return out;
    }
    if (calm) return out;
    double at = chance(random);
    for (auto const& [what, share] : {std::pair(part::kind::fails, mix.fails), {part::kind::backs_off, mix.backs_off},
             {part::kind::releases, mix.releases}, {part::kind::hangs, mix.hangs}, {part::kind::deaf, mix.deaf},
             {part::kind::rejects, mix.rejects}, {part::kind::misreads, mix.misreads},
             {part::kind::condemns, mix.condemns}, {part::kind::unavailable, again ? 0 : mix.unavailable},
             {part::kind::blocks, mix.blocks}, {part::kind::acks, mix.acks}, {part::kind::extends, mix.extends},
             {part::kind::guards, mix.guards}, {part::kind::insists, mix.insists}}) {
        if (at < share) {
            out.what = what;
            break;
        }
        at -= share;
    }
    if (out.what == part::kind::deaf) out.takes = 3 * lease;
    if (out.what == part::kind::blocks) out.takes = some(2 * lease);
    if (out.what == part::kind::guards) out.takes = lease + some(3 * lease);
    return out;
}

namespace {

/// Agrees in its time, as a rule. One in ten refuses the second question or throws, and one in ten takes two leases.
class drawn_guard final : public lease_guard {
public:
    drawn_guard(milliseconds drawn, clock& time, std::function<void(guard_news, tick)> tell)
        : drawn_(drawn), time_(time), tell_(std::move(tell))
    {}

    asio::awaitable<result<void>> extend(std::chrono::seconds length) override
    {
        auto const asked_at = time_.now();
        tell_(guard_news::asked, {});
        auto const sort = drawn_.count() % 10;
        auto const second = ++asked_ == 2;
        auto const takes =
            second && sort == 0 ? 2 * milliseconds(length) : milliseconds(length) * (drawn_.count() % 100) / 700;
        auto const timer = time_.make_timer(co_await asio::this_coro::executor);
        co_await timer->wait_until(asked_at + takes);
        if (second && sort == 1) {
            tell_(guard_news::refuses, {});
            if (drawn_.count() % 20 == 1) throw std::runtime_error("a guard that throws");
            co_return failure(errc::stopped, "a guard that refuses");
        }
        tell_(guard_news::agrees, asked_at + length + std::chrono::seconds(1)); // see lease_guard
        co_return result<void>();
    }

private:
    milliseconds const drawn_;
    clock& time_;
    std::function<void(guard_news, tick)> const tell_;
    int asked_ = 0;
};

/// Asks for the delete of its message and waits for no answer: several times from the beginning on, or as it ends,
/// whatever its end.
class insistence {
public:
    insistence(part role, stage& on) : on_(on), from_the_first_(role.delay.count() % 3 == 0) {}

    void begins() { ask_if(from_the_first_); }
    void ends() { ask_if(true); }

private:
    void ask_if(bool it_is_time)
    {
        if (!it_is_time) return;
        if (!std::exchange(has_asked_, true)) on_.acks();
        on_.message.ack([](result<void> const&) {});
    }

    stage& on_;
    bool const from_the_first_;
    bool has_asked_ = false;
};

/// Throws when it is cancelled, and obeys.
asio::awaitable<void> work(part role, clock& time, milliseconds length)
{
    auto const timer = time.make_timer(co_await asio::this_coro::executor);
    auto const until = role.what == part::kind::hangs ? tick::max() : time.now() + length;
    for (bool over = false; !over; over = over || time.now() >= until) {
        over = co_await timer->wait_until(until);
        if (!over && role.obeys_cancellation()) throw boost::system::system_error(asio::error::operation_aborted);
    }
}

} // namespace

outcome last_words(part const& role)
{
    switch (role.what) {
    case part::kind::fails: throw std::runtime_error("a try that fails");
    case part::kind::backs_off: return retry_after(role.delay);
    case part::kind::releases: return release();
    case part::kind::rejects: return reject("a message that is rejected");
    case part::kind::misreads: throw parse_error("a message that cannot be read");
    case part::kind::condemns: throw condemned("a message that is condemned");
    case part::kind::unavailable: throw dependency_down("what it needs is down");
    case part::kind::succeeds:
    case part::kind::hangs:
    case part::kind::deaf:
    case part::kind::blocks:
    case part::kind::acks:
    case part::kind::extends:
    case part::kind::guards:
    case part::kind::insists: break;
    }
    return ack();
}

namespace {

asio::awaitable<outcome> insist(part role, stage on)
{
    insistence its(role, on);
    its.begins();
    try {
        co_await work(role, on.time, role.takes / 2);
        its.begins();
        co_await work(role, on.time, role.takes / 2);
    } catch (...) {
        its.ends();
        throw;
    }
    its.ends();
    co_return ack();
}

} // namespace

asio::awaitable<outcome> play(part role, stage on)
{
    if (role.what == part::kind::insists) co_return co_await insist(role, std::move(on));
    if (!role.obeys_cancellation()) co_await asio::this_coro::throw_if_cancelled(false);
    if (role.what == part::kind::blocks) on.block(role.takes);
    if (role.what == part::kind::extends) {
        co_await work(role, on.time, role.takes / 2);
        auto const lease = std::chrono::ceil<std::chrono::seconds>(role.delay);
        result<void> said;
        if (role.delay.count() % 2 == 0)
            said = co_await on.message.extend(lease);
        else
            said = co_await on.message.extend(lease, asio::deferred);
        if (!said) throw boost::system::system_error(said.error().code);
    }
    if (role.what == part::kind::guards) {
        auto guard = std::make_shared<drawn_guard>(role.delay, on.time, on.guard);
        auto const said = co_await on.message.guard_lease(std::move(guard));
        if (!said) throw boost::system::system_error(said.error().code);
        on.guard(guard_news::agrees, on.message.lease_deadline());
    }
    if (on.calls && role.obeys_cancellation()) co_await on.calls->call(role.call);
    co_await work(role, on.time, role.takes);
    if (role.what == part::kind::acks) {
        on.acks();
        auto const said = co_await on.message.ack();
        if (!said) throw boost::system::system_error(said.error().code);
        on.acked();
        co_await work(role, on.time, role.takes);
        if (role.delay > milliseconds(45'000)) throw std::runtime_error("a failure after the fact");
    }
    co_return last_words(role);
}

std::string draw_body(scenario const& day, int number)
{
    auto out = std::to_string(number);
    if (day.longest_body == 0) return out;
    std::mt19937_64 random(day.seed * golden + static_cast<std::uint64_t>(number));
    auto const size =
        chance(random) * chance(random) * static_cast<double>(day.longest_body); // short ones more often
    return out + ' ' + std::string(static_cast<std::size_t>(size), 'x');
}

bool arrives_damaged(scenario const& day, int number, int receive_count)
{
    std::mt19937_64 random(day.seed * golden - static_cast<std::uint64_t>(number));
    return receive_count <= most_damaged_receives && chance(random) < day.handlers.damaged;
}

} // namespace quern::sim::detail

namespace quern::sim {

using namespace detail;

milliseconds sent_at(scenario const& day, int number)
{
    auto evenly = day.messages;
    for (auto const& p : day.piles)
        evenly -= p.messages;
    for (auto const& p : day.piles) {
        auto const all = p.at >= day.sent_within;
        auto const before =
            all ? evenly : static_cast<int>((evenly * p.at + day.sent_within - milliseconds(1)) / day.sent_within);
        if (number < before) break;
        if (number < before + p.messages) return p.at;
        number -= p.messages;
    }
    return day.sent_within * number / evenly;
}

int tenant_of(scenario const& day, int number)
{
    if (day.tenants == 0) return 0;
    auto const row = number / day.in_a_row;
    if (day.in_turn) return row % day.tenants;
    std::mt19937_64 random(~day.seed * golden + static_cast<std::uint64_t>(row));
    return static_cast<int>(random() % static_cast<std::uint64_t>(day.tenants));
}

int group_of(scenario const& day, int number)
{
    if (day.tenants == 0) return number / day.queues % day.groups;
    return tenant_of(day, number) + day.tenants * (number / day.tenants % (day.groups / day.tenants));
}

/// Not one after the other: what each of several in a row says is another question.
bool is_poisoned(scenario const& day, int number)
{
    auto const behind = number - day.messages / 3;
    return behind >= 0 && behind % 7 == 0 && behind / 7 < day.poisoned;
}

std::chrono::milliseconds stood_back(scenario const& day, int process, tick from, tick until)
{
    static constexpr std::chrono::minutes until_it_shows(3); // that what handlers need is down
    std::vector<std::pair<tick, tick>> times;
    for (auto const& s : day.spells)
        if (s.dependency_down) times.emplace_back(tick() + s.from + until_it_shows, tick() + s.until);
    for (auto const& i : day.incidents)
        if (i.what == incident::kind::rest && i.process == process)
            times.emplace_back(tick() + i.at, tick() + i.at + i.by);
    std::ranges::sort(times);
    tick::duration all{};
    for (auto const& [begin, end] : times) {
        auto const first = std::max(begin, from), last = std::min(end, until);
        if (first >= last) continue;
        all += last - first;
        from = last;
    }
    return std::chrono::floor<milliseconds>(all);
}

} // namespace quern::sim
