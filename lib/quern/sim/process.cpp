#include <quern/sim/process.hpp>

#include <quern/sim/detail/limit_book.hpp>
#include <quern/sim/detail/part.hpp>
#include <quern/sim/detail/recorder.hpp>
#include <quern/sim/detail/weather.hpp>

#include <boost/asio/this_coro.hpp>

#include <deque>
#include <utility>

namespace quern::sim {

using namespace detail;
namespace asio = boost::asio;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

/// The best that the client's settings allow: two attempts within the third of a lease that is left at its extension.
milliseconds request_timeout(scenario const& day)
{
    return std::min<milliseconds>(10s, milliseconds(day.consumer.visibility_timeout) / 6);
}

/// As a drain cuts it; see consumer_options::wait_time.
milliseconds longest_wait(scenario const& day)
{
    return std::min<milliseconds>(day.consumer.wait_time, day.consumer.drain_deadline * 2 / 3);
}

} // namespace

process::process(surroundings const& s, int number, int its_slot)
    : id(number), slot(its_slot), day_(s.day), books_(s.books), handle_(s.handle), calls_(s.calls),
      block_([pause = s.pause, number](milliseconds d) { pause(number, d); }), clock_(s.time),
      notes_(std::make_unique<recorder>(s.reached, [this] { return subject_ ? subject_->in_flight() : 0; })),
      network_({s.service.service, s.service.time, s.service.executor,
                   &s.books.service_for(number, [this] { return subject_->in_flight(); }),
                   [&day = s.day, &books = s.books](sqs::message const& m) {
                       return arrives_damaged(day, books.number_of(m.body), m.receive_count());
                   },
                   s.service.polls, notes_.get()},
          request_timeout(s.day)),
      order_(s.day.seed + static_cast<std::uint64_t>(number))
{
    auto options = day_.consumer;
    options.time = &clock_;
    if (options.poison_queue) options.poison_queue = s.poison_url;
    options.seed += static_cast<std::uint64_t>(id) * 2;
    options.log = [this](log_level, std::string_view text) { books_.logged(id, text); };
    if (day_.on_a_pool) options.handler_executor = pool_.get_executor();
    if (day_.threads > 0) {
        threads_.emplace(io_, clock_, static_cast<std::size_t>(day_.threads));
        options.handler_executor = threads_->get_executor();
    }
    auto const tenant = [this](delivery const& d) {
        return "tenant " + std::to_string(tenant_of(day_, books_.number_of(d.body())));
    };
    if (day_.takes_turns)
        options.tenant = tenant;
    else if (day_.keyed)
        options.outage.dependency = tenant;
    notes_->watch_gate(options, clock_.now());
    recorder::hearing const its(*notes_);
    handlers mine;
    if (day_.batches)
        mine.many = [this](deliveries all) { return handle(all); };
    else if (day_.functions && !handle_)
        mine.call = [this](delivery& d) { return call(d); };
    else
        mine.one = [this](delivery& d) { return handle(d); };
    subject_ = s.make(io_, network_, s.queue_url, std::move(mine), std::move(options));
    subject_->start([this](drain_report const& said) { drained(said); });
    books_.note("process " + std::to_string(id) + " starts");
}

process::~process()
{
    recorder::hearing const its(*notes_);
    if (!ended_) books_.killed(id);
    ended_ = true; // what the frames still report does not count
    threads_.reset();
    pool_.shutdown();
}

std::size_t process::run()
{
    recorder::hearing const its(*notes_);
    if (draining_ && !paused) books_.hears(id);
    std::size_t all = 0;
    for (std::size_t done = 1; done != 0 && !paused; all += done) {
        io_.restart();
        pool_.restart();
        done = threads_ && order_.one_in(2) ? threads_->run() : 0;
        done += io_.poll() + pool_.poll();
        if (threads_) done += threads_->run();
    }
    books_.holds(id, subject_->in_flight());
    if (handle_) look_for_real_waits();
    return all;
}

void process::look_for_real_waits()
{
    if (trying_ == 0 || its_clock_.waits() != 0 || paused) waited_at_ = clock_.now();
    if (clock_.now() - waited_at_ <= day_.consumer.visibility_timeout) return;
    books_.warn(
        "virtual time moves on while handlers wait for something real: use the quern::clock that they are given");
}

void process::set_weather(spell const& now)
{
    notes_->strike(now);
    network_.set_faults(delayed(now.faults, day_.latency, id));
    network_.expire_credentials(now.credentials_expired);
    network_.lose_handles(now.without_handles);
    auto const faultless = now.faults.everywhere == broker::fault_rates() && now.faults.by_operation.empty();
    auto const fair = faultless && !now.credentials_expired && !now.without_handles;
    if (!fair || !fair_) disturb();
    fair_ = fair;
}

void process::rest(bool on)
{
    if (ended_) return;
    books_.rests(id, on);
    subject_->rest(on);
}

void process::turn(consumer_limits const& to)
{
    if (ended_ || paused) return;
    books_.turned(id, seen_limits(day_, to));
    subject_->set_limits(to);
}

void process::drain(milliseconds limit)
{
    if (!std::exchange(draining_, true)) {
        // One that halts by itself may have begun before, with a limit of its own.
        auto const halts =
            (day_.groups > 0 && day_.consumer.fifo.on_failure == group_policy::halt) || day_.consumer.give_up.after;
        books_.stops(id, halts ? std::max(limit, day_.consumer.drain_deadline) : limit);
        limit_ = halts ? std::min(limit, day_.consumer.drain_deadline) : limit;
        drain_began_ = clock_.now();
    } else {
        books_.note("process " + std::to_string(id) + " is told to stop once more");
    }
    subject_->drain(limit);
}

/// A receive that is open until the end may bring back what was given back, and then nobody has time to release it;
/// and a request that went out in bad weather may hang that long.
void process::drained(drain_report const& said)
{
    report_ = said;
    auto const longest = longest_wait(day_) + request_timeout(day_);
    auto const roomy = limit_ >= longest_wait(day_) + 3s && day_.connections == 0; // else polls wait in line
    auto const fine_since = disturbed_at_ == tick() ? tick() : disturbed_at_ + longest;
    books_.drained(id, said, draining_ && roomy && fair_ && !paused && fine_since <= drain_began_);
    halted_ = !draining_;
    draining_ = ended_ = true;
}

/// A try of a message: the books hear of its beginning and of its end, however the frame ends.
struct process::attempt {
    attempt(process& p, delivery& d, bool cancellable)
        : in(p), number(p.books_.number_of(d.body())),
          role(draw_part(p.day_, number, d.receive_count(), p.tries_[number]++ != 0, p.clock_.now())),
          obeys(cancellable && (p.handle_ || role.obeys_cancellation()))
    {
        ++in.trying_;
        in.books_.started(in.id, number);
        if (!in.handle_) in.notes_->reach(role.what);
    }
    ~attempt()
    {
        --in.trying_;
        if (in.ended_) return;
        in.books_.ended(in.id, number, means, obeys);
        in.notes_->reach(means);
    }
    attempt(attempt const&) = delete;

    process& in;
    int const number;
    part const role;  // another when it is tried again for the same receive: it was kept here in bad times
    bool const obeys; // a batch ends when all of its messages are to end
    tick const began = in.clock_.now();
    bool acked = false;
    verdict means{};
};

void process::account_for(delivery const& d, ending& how)
{
    how.at = clock_.wall();
    auto const first = d.first_received_at().value_or(how.at);
    if (day_.counts_age)
        how.excused = stood_back(day_, slot / day_.together, clock_.now() - (how.at - first), clock_.now());
}

asio::awaitable<ending> process::play(delivery& d, attempt& of)
{
    ending how;
    try {
        stage on{d, clock_, block_, [&] { books_.acks(id, of.number); },
            [&] {
                books_.acked(id, of.number);
                of.acked = true;
            },
            [this, number = of.number, began = of.began](
                guard_news said, tick reach) { books_.guarded(id, number, began, said, reach); },
            calls_};
        auto work = handle_ ? handle_(d, its_clock_) : sim::detail::play(of.role, std::move(on));
        auto said = co_await std::move(work);
        how.said.emplace(std::move(said));
    } catch (...) {
        how.thrown = std::current_exception();
    }
    auto const state = co_await asio::this_coro::cancellation_state;
    how.cancelled = state.cancelled() != asio::cancellation_type::none;
    how.took = std::chrono::duration_cast<milliseconds>(clock_.now() - of.began);
    account_for(d, how);
    co_return how;
}

asio::awaitable<outcome> process::handle(delivery& d)
{
    attempt record(*this, d, true);
    auto how = co_await play(d, record);
    record.means = record.acked ? verdict{verdict::kind::succeeded} : judge(day_, d, how);
    if (how.thrown) std::rethrow_exception(how.thrown);
    co_return *std::move(how.said);
}

/// Nothing tells it to end.
outcome process::call(delivery& d)
{
    attempt record(*this, d, false);
    ending how;
    try {
        if (threads_)
            threads_->stand_still(record.role.takes);
        else if (record.role.what == part::kind::blocks)
            block_(record.role.takes);
        how.said = last_words(record.role);
    } catch (...) {
        how.thrown = std::current_exception();
    }
    how.took = std::chrono::duration_cast<milliseconds>(clock_.now() - record.began);
    account_for(d, how);
    record.means = judge(day_, d, how);
    if (how.thrown) std::rethrow_exception(how.thrown);
    return *std::move(how.said);
}

/// Handles each by itself: a throw is no reason to skip the others. Those that a cancellation leaves over go back.
asio::awaitable<std::vector<outcome>> process::handle(deliveries all)
{
    std::deque<attempt> records;
    for (delivery& d : all)
        records.emplace_back(*this, d, all.size() == 1);
    std::vector<outcome> said;
    for (bool cancelled = false; said.size() < all.size();) {
        auto& record = records[said.size()];
        delivery& d = all[said.size()];
        ending how;
        if (!cancelled) how = co_await play(d, record);
        cancelled = cancelled || how.cancelled;
        if (!how.said) {
            how.thrown = nullptr;
            how.said = cancelled ? release() : retry();
        }
        record.means = record.acked ? verdict{verdict::kind::succeeded} : judge(day_, d, how);
        said.push_back(*how.said);
    }
    co_return said;
}

} // namespace quern::sim
