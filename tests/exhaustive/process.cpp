#include "process.hpp"
#include "doors.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>

namespace quern::test {

namespace asio = boost::asio;
using std::chrono::seconds;
using life = detail::message_life;

namespace {

constexpr char const *queue_url = "http://sqs.test/1/orders", *poison_url = "http://sqs.test/1/poison";

int number_of(std::string_view id)
{
    return id.front() - 'a';
}

} // namespace

void surroundings::tell(int process, std::string const& what)
{
    if (!story) return;
    auto const at = std::chrono::round<std::chrono::milliseconds>(now - tick(std::chrono::hours(1))).count();
    auto line = std::to_string(at) + " ms: ";
    if (process >= 0) line += "process " + std::to_string(process) + ' ';
    story->push_back(line + what);
}

/// Being among the runs, also when its frame is destroyed with its context.
class process::being_run {
public:
    being_run(process& of, std::vector<delivery*> all) : of_(of), at_(of.runs_.emplace(of.runs_.end()))
    {
        at_->number = ++of.begun_;
        at_->all = std::move(all);
        ++of.surroundings_.happened;
        of.surroundings_.tell(of.number_, "begins a handler");
    }
    being_run(being_run const&) = delete;
    ~being_run()
    {
        ++of_.surroundings_.happened;
        of_.runs_.erase(at_);
    }

    run& its() const { return *at_; }

private:
    process& of_;
    std::list<run>::iterator at_;
};

process::process(surroundings& s, int number)
    : surroundings_(s), number_(number), time_(s.now), wards_(static_cast<std::size_t>(s.plan.messages))
{}

consumer_options process::options()
{
    auto const& plan = surroundings_.plan;
    consumer_options out;
    out.limits.max_in_flight = 4;
    out.limits.max_polls = 1;
    if (plan.one_at_a_time) out.limits.handler_concurrency = 1;
    out.visibility_timeout = lease;
    out.backoff = policy::backoff::fixed({backoff});
    out.outage.breaker.reset();
    out.settle.linger.reset();
    out.drain_deadline = longest_drain;
    out.stall_after.reset();
    out.log = nullptr;
    out.time = &time_;
    out.seed = 1;
    out.batch.size = 2;
    out.batch.window = seconds(2);
    if (plan.has_timeout) out.handler_timeout = handler_limit;
    out.poison_queue = plan.keeps_copies ? poison_url : "";
    return out;
}

void process::start()
{
    handlers handle;
    handle.says_outcomes = true;
    if (surroundings_.plan.in_batches) {
        handle.many = [this](deliveries all) { return play_all(all); };
    } else {
        handle.one = [this](delivery& d) {
            std::vector<delivery*> one{&d};
            return play(std::move(one));
        };
    }
    auto const ex = asio::any_io_executor(surroundings_.io->get_executor());
    auto const at = detail::pipeline::move_in({}, ex, this, queue_url, std::move(handle), options(), counters_);
    detail::visit_tenant<detail::pipeline>(at, [this](std::shared_ptr<detail::pipeline> const& p) { pipe_ = p; });
    asio::post(pipe_->strand(), [this] { pipe_->start(); });
}

detail::stage_context& process::context() const
{
    return through<context_of>(*pipe_);
}

bool process::has_ended() const
{
    return context().ended;
}

bool process::is_draining() const
{
    return context().ending.has_value();
}

bool process::is_done() const
{
    return context().in_flight.size() == 0 && calls_.empty() && runs_.empty();
}

bool process::fire()
{
    if (asleep) return false;
    if (time_.fire()) return true;
    if (!receive_ || receive_ends_at_ > surroundings_.now) return false;
    std::exchange(receive_, {}).tell({});
    return true;
}

std::optional<tick> process::next() const
{
    if (asleep) return {};
    auto out = time_.next();
    if (receive_) out = std::min(out.value_or(tick::max()), receive_ends_at_);
    return out;
}

std::optional<tick> process::first_limit() const
{
    std::optional<tick> out;
    for (auto const& c : calls_)
        out = std::min(out.value_or(tick::max()), c.sent_at + longest_call);
    return out;
}

// ---- handlers ----

asio::awaitable<std::vector<outcome>> process::play_all(deliveries all)
{
    std::vector<delivery*> list;
    for (auto& d : all)
        list.push_back(&d);
    auto const count = list.size();
    auto one = play(std::move(list));
    outcome const said = co_await std::move(one);
    std::vector<outcome> out(count, said);
    co_return out;
}

asio::awaitable<outcome> process::play(std::vector<delivery*> all)
{
    being_run const lasts(*this, std::move(all));
    auto& its = lasts.its();
    check_start(its);
    for (;;) {
        auto begin = [&its](detail::asker<event::kind> who) { its.waits = std::move(who); };
        std::function<void()> cancel = [this, &its] {
            its.told = true;
            ++surroundings_.happened;
        };
        auto wait = detail::ask<event::kind>(std::move(begin), std::move(cancel));
        auto const what = co_await std::move(wait);
        its.waits = {};
        if (what != event::asks_delete && what != event::asks_lease) co_return conclude(its, what);
        its.asks = its.asked = true;
        auto& d = *its.all.front();
        if (what == event::asks_lease) {
            auto longer = d.extend(2 * lease);
            auto const said = co_await std::move(longer);
            if (said && d.remaining() <= lease) surroundings_.breaks("says that the lease is longer, and it is not");
        } else {
            note_success(its);
            auto deleted = d.ack();
            auto const said = co_await std::move(deleted);
            auto const& m = surroundings_.queue.messages[static_cast<std::size_t>(number_of(d.id()))];
            auto const is_ours = m.owner == number_ && !wards_[static_cast<std::size_t>(number_of(d.id()))].unheard;
            if (said && !m.deleted && is_ours) surroundings_.breaks("says that it is deleted, and it is not");
        }
        its.asks = false;
        ++surroundings_.happened;
    }
}

void process::check_start(run const& its)
{
    for (auto const* d : its.all) {
        auto const m = number_of(d->id());
        if (d->remaining() <= tick::duration()) surroundings_.breaks("begins without a lease");
        if (is_draining()) surroundings_.breaks("begins though it drains");
        wards_[static_cast<std::size_t>(m)].may_delete = wards_[static_cast<std::size_t>(m)].lost_in_run = false;
        for (auto const& other : runs_)
            for (auto const* theirs : other.all)
                if (&other != &its && theirs->body() == d->body()) surroundings_.breaks("runs twice at once");
    }
}

void process::note_success(run const& its)
{
    for (auto const* d : its.all) {
        auto& w = wards_[static_cast<std::size_t>(number_of(d->id()))];
        w.may_delete = w.may_delete || (d->remaining() > tick::duration() && !w.lost_in_run);
    }
}

outcome process::conclude(run const& its, event::kind what)
{
    switch (what) {
    case event::succeeds: note_success(its); return ack();
    case event::fails: return retry();
    case event::rejects:
        if (!surroundings_.plan.keeps_copies) note_success(its);
        return reject("bad");
    default: break;
    }
    throw boost::system::system_error(asio::error::operation_aborted);
}

void process::apply(event const& e)
{
    auto& left = surroundings_.left;
    switch (e.what) {
    case event::receives_again: --left.repeats; return bring(e);
    case event::receive_lost: --left.faults; return bring(e);
    case event::receives:
    case event::poll_ends: return bring(e);
    case event::carried_out: --left.reads_ahead; return carry_out(calls_[e.which]);
    case event::request_lost:
    case event::answer_lost:
    case event::entry_fails:
    case event::refused: --left.faults; return end_call(e);
    case event::answered: return end_call(e);
    case event::succeeds:
    case event::fails:
    case event::rejects:
    case event::obeys:
    case event::asks_delete:
    case event::asks_lease: return std::exchange(std::next(runs_.begin(), e.which)->waits, {}).tell(e.what);
    case event::drains: --left.drains; return pipe_->begin_drain(longest_drain);
    case event::hurries: hurried_ = true; return pipe_->begin_drain(longest_drain);
    case event::pauses:
        --left.pauses;
        paused_ = true;
        return pipe_->pause("");
    case event::resumes: paused_ = false; return pipe_->resume();
    case event::sleeps:
    case event::waits:
    case event::waits_half: break; // everybody's
    }
}

} // namespace quern::test
