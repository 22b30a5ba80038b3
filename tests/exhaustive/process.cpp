#include "process.hpp"
#include "doors.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <charconv>

namespace quern::test {

namespace asio = boost::asio;
using std::chrono::seconds;
using life = detail::message_life;

namespace {

constexpr char const *queue_url = "http://sqs.test/1/orders", *poison_url = "http://sqs.test/1/poison";

std::string handle_of(int message, int receive)
{
    return std::to_string(message) + '/' + std::to_string(receive);
}

void read_handle(std::string_view handle, int& message, int& receive)
{
    message = handle.front() - '0';
    std::from_chars(handle.data() + 2, handle.data() + handle.size(), receive);
}

std::string letter(int message)
{
    return std::string(1, static_cast<char>('a' + message));
}

int number_of(std::string_view id)
{
    return id.front() - 'a';
}

failure lost()
{
    return failure(errc::connection_lost, "the connection is lost", true);
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

// ---- handlers -------------------------------------------------------------------------------------------------------

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

// ---- the api --------------------------------------------------------------------------------------------------------

sqs::answer<sqs::receive_message_response> process::carry(sqs::receive_message_request request)
{
    receive_ends_at_ = surroundings_.now + *request.wait_time;
    lease_ = *request.visibility_timeout;
    if (has_ended()) surroundings_.breaks("receives after its end");
    auto begin = [this](detail::asker<arrival> who) { receive_ = std::move(who); };
    auto wait = detail::ask<arrival>(std::move(begin));
    auto got = co_await std::move(wait);
    receive_ = {};
    if (got.failed) co_return *got.failed;
    sqs::receive_message_response out;
    for (auto const which : got.messages) {
        auto const& m = surroundings_.queue.messages[static_cast<std::size_t>(which)];
        sqs::message one;
        one.id = texts_.emplace_back(letter(which));
        one.body = texts_.emplace_back(letter(which));
        one.receipt_handle = texts_.emplace_back(handle_of(which, m.receives));
        one.system_attributes.push_back({"ApproximateReceiveCount", texts_.emplace_back(std::to_string(m.receives))});
        out.messages.push_back(std::move(one));
    }
    co_return out;
}

sqs::answer<process::reply> process::answer_to(call what)
{
    if (has_ended()) surroundings_.breaks("calls after its end");
    what.sent_at = surroundings_.now;
    if (surroundings_.story) surroundings_.tell(number_, "sends " + text_of(what));
    note_sent(what);
    auto begin = [this, what = std::move(what)](detail::asker<reply> who) mutable {
        what.tell = std::move(who);
        calls_.push_back(std::move(what));
        ++surroundings_.happened;
    };
    auto wait = detail::ask<reply>(std::move(begin));
    auto got = co_await std::move(wait);
    co_return got;
}

template <class Response>
Response process::response_of(std::vector<std::string> const& codes)
{
    Response out;
    for (std::size_t i = 0; i < codes.size(); ++i) {
        if (codes[i].empty())
            out.successful.emplace_back().id = std::to_string(i);
        else
            out.failed.push_back({std::to_string(i), codes[i], "", false});
    }
    return out;
}

sqs::answer<sqs::delete_message_batch_response> process::carry(sqs::delete_message_batch_request request)
{
    call what;
    for (auto const& e : request.entries) {
        auto& to = what.entries.emplace_back();
        read_handle(e.receipt_handle, to.message, to.receive);
    }
    auto wait = answer_to(std::move(what));
    auto const got = co_await std::move(wait);
    if (got->failed) co_return *got->failed;
    co_return response_of<sqs::delete_message_batch_response>(got->codes);
}

sqs::answer<sqs::change_message_visibility_batch_response> process::carry(
    sqs::change_message_visibility_batch_request request)
{
    call what;
    what.what = call::kind::change;
    for (auto const& e : request.entries) {
        auto& to = what.entries.emplace_back();
        read_handle(e.receipt_handle, to.message, to.receive);
        to.timeout = e.visibility_timeout;
    }
    auto wait = answer_to(std::move(what));
    auto const got = co_await std::move(wait);
    if (got->failed) co_return *got->failed;
    co_return response_of<sqs::change_message_visibility_batch_response>(got->codes);
}

sqs::answer<sqs::send_message_batch_response> process::carry(sqs::send_message_batch_request request)
{
    call what;
    what.what = call::kind::copy;
    for (auto const& e : request.entries)
        what.entries.emplace_back().message = number_of(e.body);
    auto wait = answer_to(std::move(what));
    auto const got = co_await std::move(wait);
    if (got->failed) co_return *got->failed;
    co_return response_of<sqs::send_message_batch_response>(got->codes);
}

void process::carry_out(call& c)
{
    if (std::exchange(c.carried_out, true)) return;
    auto& queue = surroundings_.queue;
    for (auto& e : c.entries) {
        if (!e.code.empty()) continue; // it fails
        auto const at = static_cast<std::size_t>(e.message);
        switch (c.what) {
        case call::kind::remove:
            e.code = queue.remove(at, e.receive);
            deletions_ += e.code.empty();
            break;
        case call::kind::copy:
            ++queue.messages[at].copies;
            wards_[at].may_delete = true;
            break;
        case call::kind::change:
            e.code = queue.change(at, e.receive, surroundings_.now, e.timeout);
            if (e.code.empty() && e.postpones) wards_[at].put_off_until = surroundings_.now + e.timeout;
            break;
        }
    }
    ++surroundings_.happened;
}

std::string process::text_of(call const& c)
{
    std::string out = c.what == call::kind::remove ? "deletes" : c.what == call::kind::copy ? "copies" : "changes";
    for (auto const& e : c.entries) {
        out += " of " + letter(e.message) + ", receive " + std::to_string(e.receive);
        if (c.what == call::kind::change) out += ", for " + std::to_string(e.timeout.count()) + " s";
    }
    return out;
}

process::call process::take_call(std::size_t which)
{
    auto out = std::move(calls_[which]);
    calls_.erase(calls_.begin() + static_cast<std::ptrdiff_t>(which));
    return out;
}

void process::end_call(event const& e)
{
    auto c = take_call(e.which);
    reply said;
    if (e.what == event::entry_fails) c.entries[e.entry].code = "InternalError";
    if (e.what == event::request_lost || e.what == event::answer_lost) said.failed = lost();
    if (e.what == event::refused) said.failed = failure(errc::service_error, "for good");
    if (e.what != event::request_lost && e.what != event::refused) carry_out(c);
    for (auto const& one : c.entries) {
        auto const fails = said.failed || one.code == "InternalError"; // else it is no longer ours
        if (c.what == call::kind::change && fails) wards_[static_cast<std::size_t>(one.message)].extension_failed = true;
        said.codes.push_back(one.code);
    }
    c.tell.tell(std::move(said));
}

void process::bring(event const& e)
{
    auto& queue = surroundings_.queue;
    arrival got;
    if (e.what != event::poll_ends) {
        auto& its = wards_[e.which];
        queue.receive(e.which, number_, surroundings_.now, lease_);
        if (e.what == event::receive_lost)
            its.unheard = true;
        else
            its = {its.may_delete, false, its.lost_in_run};
        got.messages.push_back(e.which);
    }
    if (e.what == event::receive_lost) got.failed = lost();
    std::exchange(receive_, {}).tell(std::move(got));
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
