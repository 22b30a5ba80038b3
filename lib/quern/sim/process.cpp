#include <quern/sim/process.hpp>

#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <random>
#include <stdexcept>

namespace quern::sim {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

/// The best that the client's settings allow: two attempts within the third of a lease that is left at its extension.
milliseconds request_timeout(scenario const& day)
{
    return std::min<milliseconds>(10s, milliseconds(day.consumer.visibility_timeout) / 6);
}

/// What this try of this message is to be, whoever runs it.
struct part {
    enum class kind { succeeds, fails, backs_off, releases, hangs, deaf, rejects, misreads };
    kind what = kind::succeeds;
    milliseconds takes{};
    milliseconds delay{};
};

part draw_part(scenario const& day, int number, int receive_count)
{
    auto const spread = static_cast<std::uint64_t>(number) * 1'000'003 + static_cast<std::uint64_t>(receive_count);
    std::mt19937_64 random(day.seed * 0x9e3779b97f4a7c15 + spread);
    auto const chance = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
    part out;
    auto const& mix = day.handlers;
    auto const calm = receive_count > mix.troubled_tries;
    auto const slow = !calm && chance() < mix.slow;
    auto const longest = slow ? milliseconds(day.consumer.visibility_timeout) * 3 : 100ms;
    out.takes = milliseconds(static_cast<std::int64_t>(chance() * static_cast<double>(longest.count())));
    out.delay = milliseconds(1'000 + static_cast<std::int64_t>(chance() * 89'000));
    if (calm) return out;
    double at = chance();
    for (auto const& [what, share] : {std::pair(part::kind::fails, mix.fails), {part::kind::backs_off, mix.backs_off},
             {part::kind::releases, mix.releases}, {part::kind::hangs, mix.hangs}, {part::kind::deaf, mix.deaf},
             {part::kind::rejects, mix.rejects}, {part::kind::misreads, mix.misreads}}) {
        if (at < share) {
            out.what = what;
            break;
        }
        at -= share;
    }
    if (out.what == part::kind::deaf) out.takes = milliseconds(day.consumer.visibility_timeout) * 3;
    return out;
}

bool arrives_damaged(scenario const& day, sqs::message const& m)
{
    static constexpr int most = 20; // receives
    auto const number = std::stoull(std::string(m.body));
    std::mt19937_64 random(day.seed * 0x9e3779b97f4a7c15 - number);
    return m.receive_count() <= most && static_cast<double>(random() >> 11) * 0x1p-53 < day.handlers.damaged;
}

} // namespace

process::process(surroundings const& s, int number)
    : id(number), day_(s.day), books_(s.books), clock_(s.time),
      network_({s.service.service, s.service.time, s.service.executor, &s.books.service_for(number),
                   [&day = s.day](sqs::message const& m) { return arrives_damaged(day, m); }},
          request_timeout(s.day))
{
    auto options = day_.consumer;
    options.time = &clock_;
    if (!options.poison_queue_url.empty()) options.poison_queue_url = s.poison_url;
    options.seed += static_cast<std::uint64_t>(id) * 2;
    options.log = [this](log_level, std::string_view text) { books_.logged(id, text); };
    subject_ = s.make(
        io_, network_, s.queue_url, [this](delivery& d) { return handle(d); }, std::move(options));
    subject_->start();
    books_.note("process " + std::to_string(id) + " starts");
}

process::~process()
{
    if (!ended_) books_.killed(id);
    ended_ = true; // what the frames still report does not count
}

std::size_t process::run()
{
    if (paused) return 0;
    io_.restart();
    auto const done = io_.poll();
    books_.holds(id, subject_->in_flight());
    return done;
}

void process::set_faults(broker::fault_settings const& faults)
{
    auto own = faults;
    own.seed += static_cast<std::uint64_t>(id);
    auto const slow_down = [&](broker::fault_rates& rates) {
        if (rates.latency != 0) return;
        rates.latency = 1;
        rates.latency_min = rates.latency_max = day_.latency;
    };
    slow_down(own.everywhere);
    for (auto& [operation, rates] : own.by_operation)
        slow_down(rates);
    network_.set_faults(own);
}

void process::drain(milliseconds limit)
{
    books_.note("process " + std::to_string(id) + " is told to stop within " + std::to_string(limit.count()) + " ms");
    auto const first = !std::exchange(draining_, true);
    // A receive that is open until the end may bring back what was given back, and then nobody has time to release it.
    if (limit < milliseconds(day_.consumer.wait_time) + 3s) undisturbed_ = false;
    subject_->drain(limit, [this, limit, first](drain_report const& report) {
        if (!first) return;
        books_.drained(id, report, limit, undisturbed_);
        ended_ = true;
    });
}

asio::awaitable<outcome> process::handle(delivery& d)
{
    auto const number = std::stoi(std::string(d.body()));
    auto const role = draw_part(day_, number, d.receive_count());
    struct run_record { // however the frame ends
        process& in;
        int number;
        verdict how = verdict::cancelled;
        milliseconds delay{};
        bool obeys = true;
        ~run_record()
        {
            if (!in.ended_) in.books_.ended(in.id, number, how, delay, obeys);
        }
    } record{*this, number};
    books_.started(id, number);
    record.obeys = role.what != part::kind::deaf;
    if (!record.obeys) co_await asio::this_coro::throw_if_cancelled(false);

    auto const executor = co_await asio::this_coro::executor;
    auto const timer = clock_.make_timer(executor);
    auto const until = role.what == part::kind::hangs ? tick::max() : clock_.now() + role.takes;
    for (bool over = false; !over; over = over || clock_.now() >= until) {
        over = co_await timer->wait_until(until);
        if (!over && record.obeys) throw boost::system::system_error(asio::error::operation_aborted);
    }
    switch (role.what) {
    case part::kind::fails: record.how = verdict::failed; throw std::runtime_error("a try that fails");
    case part::kind::backs_off:
        record.how = verdict::failed;
        record.delay = role.delay;
        co_return retry_after(role.delay);
    case part::kind::rejects:
        record.how = day_.consumer.poison_queue_url.empty() ? verdict::discarded : verdict::failed;
        co_return reject("a message that is rejected");
    case part::kind::misreads:
        record.how = day_.discards_malformed() ? verdict::discarded : verdict::failed;
        throw parse_error("a message that cannot be read");
    case part::kind::releases: record.how = verdict::failed; co_return release();
    case part::kind::succeeds:
    case part::kind::hangs:
    case part::kind::deaf: break;
    }
    record.how = verdict::succeeded;
    co_return ack();
}

} // namespace quern::sim
