#include <quern/redrive/redriver.hpp>

#include <quern/consumer/client_options.hpp>
#include <quern/redrive/detail/state.hpp>
#include <quern/sqs/batch.hpp>
#include <quern/sqs/detail/next_tokens.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/system/system_error.hpp>

#include <charconv>
#include <utility>

namespace quern::redrive {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr auto look_every = 1s;     // at the depth
constexpr auto check_every = 100ms; // whether it is over

consumer_options consumer_settings(options const& o)
{
    consumer_options out;
    out.max_in_flight = o.concurrency;
    out.wait_time = o.wait_time;
    out.visibility_timeout = o.visibility_timeout;
    out.drain_deadline = o.drain_deadline;
    out.system_attributes = {"SentTimestamp", "MessageGroupId", "DeadLetterQueueSourceArn", "AWSTraceHeader"};
    out.backoff = policy::backoff::exponential(1s, 2.0, 30s);
    out.settle_linger = 2ms; // sends that shared a request end together, and so do their deletes begin
    out.breaker.reset();     // the rules of the run decide
    out.stall_after = 0ms;   // a canary is watched for longer
    out.give_up_at_start_after = 0ms;
    out.give_up_after = 60s;
    out.poison_queue_url = o.dlq_url + "-none"; // nothing is rejected here, so nobody need ask where that would go
    out.observer = o.observer;
    out.log = o.log;
    out.time = o.time;
    out.seed = o.seed;
    return out;
}

/// "account/name", from the end of a queue's URL.
std::string source_key(std::string const& url)
{
    auto const name = url.rfind('/');
    auto const account = name == url.npos || name == 0 ? url.npos : url.rfind('/', name - 1);
    return account == url.npos ? url : url.substr(account + 1);
}

std::optional<std::size_t> count_in(sqs::string_map const& attributes, char const* name)
{
    auto const at = attributes.find(name);
    if (at == attributes.end()) return {};
    std::size_t out = 0;
    auto const* const end = at->second.data() + at->second.size();
    auto const [stop, ec] = std::from_chars(at->second.data(), end, out);
    if (ec != std::errc() || stop != end) return {};
    return out;
}

} // namespace

std::optional<failure> options::validate() const
{
    auto const wrong = [](char const* what) { return failure(errc::invalid_option, what); };
    if (dlq_url.empty()) return wrong("dlq_url is empty");
    if (to_url == dlq_url) return wrong("to_url is the dead-letter queue itself: what is sent would come again");
    if (poison_url == dlq_url)
        return wrong("poison_url is the dead-letter queue itself: what is isolated would come again");
    if (!to_url.empty() && poison_url == to_url)
        return wrong("poison_url is to_url: what is isolated would be tried again");
    if (record && (keep || dry_run)) return wrong("a journal is of what was done: not with keep or dry_run");
    if (plan.waits && !record) return wrong("plan.waits needs a journal");
    if (plan.isolate_all && plan.isolate_all->empty()) return wrong("isolate_all: a reason must not be empty");
    if (plan.isolate_all && poison_url.empty()) return wrong("isolate_all needs a poison_url");
    if (concurrency < 1 || concurrency > 10'000) return wrong("concurrency must be 1 to 10,000");
    if (hide_for < 60s || hide_for > 12h) return wrong("hide_for must be 1 min to 12 h");
    if (auto bad = plan.validate()) return bad;
    if (auto bad = speed.validate()) return bad;
    return consumer_settings(*this).validate();
}

sqs::client_options client_options_for(options const& o, sqs::client_options base)
{
    auto out = quern::client_options_for(consumer_settings(o), std::move(base));
    out.connections.control_connections += producer_options().max_calls;
    return out;
}

redriver::state::state(asio::any_io_executor ex, sqs::api& api, options o)
    : ex_(std::move(ex)), api_(api), o_(std::move(o)), time_(o_.time ? *o_.time : real_clock()),
      random_(o_.seed != 0 ? o_.seed : std::random_device()()), policy_(o_.plan), rule_(o_.speed, time_.now()),
      news_(time_, ex_), new_at_(time_.now())
{}

sqs::answer<redriver::state::depth> redriver::state::look()
{
    sqs::get_queue_attributes_request ask(o_.dlq_url);
    ask.attribute_names = {
        "ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed"};
    auto const names = ask.attribute_names;
    if (told_.depth == 0)
        ask.attribute_names.insert(ask.attribute_names.end(), {"MessageRetentionPeriod", "RedrivePolicy"});
    auto const got = co_await api_.get_queue_attributes(std::move(ask));
    if (!got) co_return got.error();
    std::optional<std::size_t> counts[3];
    for (std::size_t i = 0; i < names.size(); ++i) {
        counts[i] = count_in(got->attributes, names[i].c_str());
        if (!counts[i]) co_return failure(errc::bad_reply, names[i] + " is missing or no number");
    }
    depth out;
    out.visible = *counts[0];
    out.in_flight = *counts[1];
    out.delayed = *counts[2];
    out.retention = std::chrono::seconds(count_in(got->attributes, "MessageRetentionPeriod").value_or(0));
    out.has_policy = got->attributes.contains("RedrivePolicy");
    co_return out;
}

asio::awaitable<std::optional<failure>> redriver::state::find_sources()
{
    std::string token;
    sqs::next_tokens pages;
    do {
        sqs::list_dead_letter_source_queues_request ask(o_.dlq_url);
        ask.max_results = 1'000;
        if (!token.empty()) ask.next_token = token;
        auto const page = co_await api_.list_dead_letter_source_queues(std::move(ask));
        if (!page) co_return page.error();
        for (auto const& url : page->queue_urls)
            sources_.emplace(source_key(url), url);
        token = page->next_token;
        if (auto const more = pages.follow(token); !more) co_return more.error();
    } while (!token.empty());
    if (!sources_.empty()) co_return std::nullopt;
    co_return failure(errc::invalid_option,
        std::string(queue_name(o_.dlq_url)) +
            " is the dead-letter queue of no queue: say where to send its messages");
}

asio::awaitable<std::optional<failure>> redriver::state::prepare()
{
    auto const now = co_await look();
    if (!now) co_return now.error();
    told_.dry_run = o_.dry_run;
    told_.depth = now->visible + now->in_flight + now->delayed;
    rule_.depth_is(told_.depth, 0, time_.now());
    policy_.began_at = std::chrono::floor<std::chrono::milliseconds>(time_.wall() + api_.clock_offset());
    process_began_ = policy_.began_at;
    policy_.cutoff.reset();
    retention_ = now->retention;
    if (now->has_policy && o_.log)
        o_.log(log_level::warning,
            "redrive: " + std::string(queue_name(o_.dlq_url)) +
                " has a redrive policy of its own: each look at a message is a receive, and after enough of them SQS "
                "moves it on");
    std::optional<failure> wrong;
    if (o_.to_url.empty() && !policy_.isolate_all) wrong = co_await find_sources();
    if (!wrong) wrong = begin_record();
    if (o_.cutoff) policy_.cutoff = policy_.began_at;
    co_return wrong;
}

void redriver::state::end()
{
    ending_ = true;
    wake();
    if (it_) it_->stop(o_.drain_deadline);
}

void redriver::state::stop()
{
    is_told_to_end_ = true;
    end();
    news_.ring();
}

/// Messages that were sent leave the queue before the run is over: the next one would send them again, unmarked.
bool redriver::state::has_enough() const
{
    return o_.speed.limit && told_.redriven + told_.isolated >= *o_.speed.limit && unconfirmed_.empty();
}

/// Nothing is held or awaited here, the queue has nothing that could be received, and receives came back empty: or
/// brought only what is hidden, until each had its turn, where one of many comes to light every few seconds. A FIFO
/// queue goes on counting what is behind a message that we hide; there, the receives have to do.
asio::awaitable<bool> redriver::state::is_empty(consumer const& c)
{
    auto const seen = c.counters().empty_polls;
    std::erase_if(awaited_, [&](auto const& one) { return one.second < time_.now(); });
    if (c.in_flight() != 0 || !awaited_.empty() || record_awaits()) {
        empty_polls_ = seen;
        co_return false;
    }
    auto const is_behind_ours = o_.dlq_url.ends_with(".fifo") && !hidden_.empty();
    std::uint64_t const enough = is_behind_ours ? 2 : 1; // one may have begun while a message was held
    bool const has_come_round = time_.now() - new_at_ > o_.hide_for + o_.visibility_timeout;
    if (seen < empty_polls_ + enough && !has_come_round) co_return false;
    if (is_behind_ours && !o_.record) co_return true;
    empty_polls_ = seen;
    auto const now = co_await look();
    // What a process hid that was killed comes to light; a record is not closed before.
    if (o_.record && (!now || now->in_flight > hidden_.size())) co_return false;
    if (is_behind_ours) co_return true;
    co_return now && now->visible + now->delayed == 0 && c.in_flight() == 0 && awaited_.empty();
}

/// Looks on until the consumer has ended, which it does when nothing is left to do, or nothing may be done any more.
asio::awaitable<void> redriver::state::watch(consumer& c, std::optional<result<drain_report>> const& over)
{
    auto look_at = time_.now();
    while (!over) {
        auto const soon = time_.now() + (record_awaits() ? look_every : check_every);
        co_await news_.wait(soon);
        if (over || ending_) continue;
        look_for_cancel();
        if (rule_.wants_depth() && time_.now() >= look_at) {
            auto const before = rule_.removed_count();
            auto const now = co_await look();
            look_at = time_.now() + look_every;
            if (now) rule_.depth_is(now->visible + now->in_flight + now->delayed, before, time_.now());
            told_.came_back = std::max(told_.came_back, rule_.wants_depth() ? rule_.came_back_count() : 0);
            wake();
        }
        if (rule_.why_stopped() || told_.cancelled || has_enough()) {
            is_finished_ = has_enough();
            end();
            continue;
        }
        auto const empty = co_await is_empty(c);
        if (!empty) continue;
        is_finished_ = true;
        end();
    }
}

/// The number of those that SQS could not be told of.
asio::awaitable<std::size_t> redriver::state::show(std::vector<std::string> const& handles)
{
    std::vector<sqs::change_visibility_entry> some;
    for (auto const& handle : handles)
        some.emplace_back("", handle, 0s);
    auto const url = o_.dlq_url;
    auto const ends = co_await sqs::change_visibility_batch(api_, url, std::move(some));
    std::size_t failed = 0;
    for (auto const& end : ends)
        if (!end) ++failed;
    co_return failed;
}

/// Makes visible again what was passed over. What cannot be told so becomes visible by itself; after a batch of which
/// nothing could be told twice, nothing more is tried.
asio::awaitable<void> redriver::state::give_back()
{
    auto at = hidden_.begin();
    std::size_t told = 0;
    while (at != hidden_.end()) {
        std::vector<std::string> some;
        for (; at != hidden_.end() && some.size() < sqs::max_batch_entries; ++at)
            some.push_back(at->second);
        auto failed = co_await show(some);
        if (failed != 0) {
            alarm later(time_, ex_);
            auto const soon = time_.now() + 1s;
            co_await later.wait(soon);
            failed = co_await show(some);
        }
        told += some.size() - failed;
        if (failed == some.size()) break;
    }
    told_.still_hidden = hidden_.size() - told;
}

asio::awaitable<result<report>> redriver::state::run()
{
    auto const began = time_.now();
    auto const unready = co_await prepare();
    if (unready) co_return *unready;

    std::optional<result<drain_report>> over;
    {
        auto each = [this](delivery& d) { return handle(d); };
        consumer c(ex_, api_, o_.dlq_url, each, consumer_settings(o_));
        it_ = &c;
        auto const ended = [this, &over](std::exception_ptr bug, result<drain_report> end) {
            if (bug) std::rethrow_exception(bug);
            over = std::move(end);
            news_.ring();
        };
        if (o_.begins) o_.begins(c);
        if (ending_) c.stop(o_.drain_deadline);
        asio::co_spawn(ex_, c.run(), ended);
        co_await watch(c, over);
        it_ = nullptr;
        told_.drain = co_await c.drained();
        if (o_.ends) co_await o_.ends();
    }
    for (auto& [url, one] : producers_)
        co_await one->close(o_.drain_deadline);
    auto const left = co_await look();
    if (left) told_.elsewhere = left->in_flight - std::min(left->in_flight, hidden_.size());
    if (left && is_finished_ && !has_enough() && told_.skipped != 0 && o_.dlq_url.ends_with(".fifo"))
        told_.behind = left->visible + left->delayed;
    told_.stopped = rule_.why_stopped();
    if (over->has_error() && !told_.stopped) told_.stopped = describe(over->error());
    end_record();
    told_.interrupted = is_told_to_end_ && !is_finished_ && !told_.stopped && !told_.cancelled;
    co_await give_back();
    told_.maybe_twice += unconfirmed_.size() + doubts_.size();
    told_.took = std::chrono::duration_cast<std::chrono::milliseconds>(time_.now() - began);
    co_return told_;
}

redriver::redriver(asio::any_io_executor ex, sqs::api& api, options o)
{
    if (auto const wrong = o.validate()) throw boost::system::system_error(wrong->code, wrong->message);
    state_ = std::make_shared<state>(std::move(ex), api, std::move(o));
}

redriver::~redriver() = default;

asio::awaitable<result<report>> redriver::run()
{
    auto const kept = state_;
    auto said = co_await kept->run();
    co_return said;
}

void redriver::stop()
{
    state_->stop();
}

report const& redriver::so_far() const
{
    return state_->so_far();
}

} // namespace quern::redrive
