#include <quern/producer/producer.hpp>

#include <quern/core/alarm.hpp>
#include <quern/core/detail/ask.hpp>
#include <quern/core/detail/compact_strand.hpp>
#include <quern/core/detail/random_part.hpp>
#include <quern/core/detail/text/digest.hpp>
#include <quern/core/detail/throw_wrong.hpp>
#include <quern/core/detail/what_thrown.hpp>
#include <quern/producer/detail/send_queue.hpp>
#include <quern/sqs/batch.hpp>
#include <quern/sqs/client.hpp>
#include <quern/sqs/detail/named_queues.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <array>
#include <exception>
#include <random>
#include <span>
#include <utility>

namespace quern {

using namespace detail;
namespace asio = boost::asio;

namespace {

using send_result = result<sqs::send_message_response>;

/// Somebody who waits for all messages before a mark.
struct onlooker {
    explicit onlooker(std::optional<std::chrono::milliseconds> limit = {}) : closes_within(limit) {}

    std::optional<std::chrono::milliseconds> closes_within;
    std::uint64_t mark = 0;
    std::size_t failed = 0;
    asker<std::size_t> sender;
};
using onlooker_ptr = std::shared_ptr<onlooker>;

/// 128 bits that no other producer has: all its deduplication ids begin with them.
std::string own_prefix(std::uint64_t seed)
{
    std::mt19937_64 fixed(seed);
    std::random_device system;
    std::array<std::uint32_t, 4> bits{};
    std::ranges::generate(bits, [&] { return static_cast<std::uint32_t>(seed != 0 ? fixed() : system()); });
    return text::hex(std::as_bytes(std::span(bits))) + '-';
}

/// Every failure comes back to the queue, which knows how much time each message has.
std::unique_ptr<sqs::client> make_client(
    asio::any_io_executor ex, std::string const& queue_url, producer_options const& options)
{
    sqs::client_options settings;
    if (sqs::is_queue_url(queue_url)) settings.where.queue_url = queue_url;
    if (auto const arn = sqs::queue_arn_in(queue_url)) settings.where.region = arn->region;
    settings.retries.max_attempts = 1;
    settings.observer = options.observer;
    settings.connections.control_connections = std::max(settings.connections.control_connections, options.max_calls);
    return std::make_unique<sqs::client>(std::move(ex), std::move(settings));
}

/// End of a request as news of the service: that of a message that it took, if it took any.
policy::call_end end_of(std::vector<send_result> const& answers)
{
    if (std::ranges::any_of(answers, [](auto const& one) { return one.has_value(); })) return policy::call_end::ok;
    auto const& why = answers.front().error();
    if (why.code == errc::throttled) return policy::call_end::throttled;
    if (why.code == errc::timed_out) return policy::call_end::timed_out;
    return why.retryable ? policy::call_end::unavailable : policy::call_end::failed;
}

/// Finds the queue where it is not known by its URL; null when it is.
std::unique_ptr<sqs::detail::named_queues> look_up(sqs::api& api, std::string const& queue)
{
    throw_wrong(sqs::check_region(queue, api.region()));
    return sqs::is_queue_url(queue) ? nullptr : std::make_unique<sqs::detail::named_queues>(api);
}

} // namespace

/// The driver: one loop, as long as there are messages, asks the rule what is due and starts it. Touched on the
/// strand only.
class producer::state : public std::enable_shared_from_this<state> {
public:
    /// `given` may be null: then the producer makes a client of its own.
    state(asio::any_io_executor ex, sqs::api* given, std::string queue_url, producer_options settings)
        : strand(compact_strand::on(std::move(ex))), fifo_(queue_url.ends_with(".fifo")),
          options_(std::move(settings)), time_(options_.time ? *options_.time : real_clock()),
          own_client_(given ? nullptr : make_client(strand, queue_url, options_)),
          shared_client_(given ? given->share() : nullptr), names_(look_up(api_for(given), queue_url)),
          api_(names_ ? *names_ : api_for(given)), queue_url_(std::move(queue_url)),
          queue_(options_, fifo_, seeded(options_.seed)), log_(options_.log), wake_(time_, strand),
          id_prefix_(own_prefix(options_.seed))
    {}

    void accept(outgoing_ptr);
    void withdraw(outgoing_ptr const&);
    void flush(onlooker_ptr);
    void forget(onlooker_ptr const&);
    void abandon();
    producer_explanation explain() const;

    compact_strand const strand;

private:
    sqs::api& api_for(sqs::api* given) { return shared_client_ ? *shared_client_ : given ? *given : *own_client_; }
    asio::awaitable<void> run();
    std::optional<tick> turn(tick now);
    asio::awaitable<void> call(std::vector<outgoing_ptr>);
    void give_up(tick now);
    void tell(outgoing_ptr const&, send_result);
    void tell_onlookers();
    template <class... Told, class... Args>
    void observe(void (producer_observer::*event)(Told...), Args const&... args);
    void spawn(asio::awaitable<void>);
    tick now() const { return time_.now(); }

    bool const fifo_;
    producer_options const options_;
    clock& time_;
    std::unique_ptr<sqs::client> own_client_;
    std::shared_ptr<sqs::api> shared_client_;          // the one that was given may go before us
    std::unique_ptr<sqs::detail::named_queues> names_; // null: the queue is known by its URL
    sqs::api& api_;
    std::string const queue_url_;
    send_queue queue_;
    log_throttle log_;
    alarm wake_;
    std::string const id_prefix_;
    std::uint64_t ids_ = 0;
    std::vector<onlooker_ptr> onlookers_;
    bool running_ = false;
    bool closed_ = false;
    std::optional<tick> close_at_;
    std::string problem_; // of the last request that failed; empty: none has
    tick problem_at_{};
};

void producer::state::accept(outgoing_ptr message)
{
    auto& entry = message->entry;
    message->came_at = now();
    if (closed_) return tell(message, failure(errc::stopped, "the producer is closed"));
    if (fifo_ && !entry.group_id) { // in a request it would fail its neighbours too: SQS refuses the whole of it
        return tell(message, failure(errc::invalid_request, "MessageGroupId: a FIFO queue needs one"));
    }
    if (fifo_ && !entry.deduplication_id && !options_.content_based_deduplication) {
        entry.deduplication_id = id_prefix_ + std::to_string(++ids_);
    }
    queue_.add(std::move(message), now());
    if (!std::exchange(running_, true)) spawn(run());
    wake_.ring();
}

void producer::state::withdraw(outgoing_ptr const& message)
{
    if (!message->sender) return; // it was told meanwhile
    queue_.withdraw(message, now());
    tell(message, failure(errc::stopped, "the send was cancelled"));
    wake_.ring();
}

void producer::state::flush(onlooker_ptr who)
{
    if (who->closes_within) {
        closed_ = true;
        constexpr std::chrono::milliseconds longest = std::chrono::hours(48); // no message lives longer
        auto const at = now() + std::clamp(*who->closes_within, std::chrono::milliseconds(0), longest);
        close_at_ = std::min(close_at_.value_or(at), at);
    }
    queue_.hurry();
    who->mark = queue_.mark();
    onlookers_.push_back(std::move(who));
    tell_onlookers();
    wake_.ring();
}

void producer::state::forget(onlooker_ptr const& who)
{
    if (std::erase(onlookers_, who) != 0) who->sender.tell(who->failed);
}

void producer::state::abandon()
{
    closed_ = true;
    for (auto const& message : queue_.stop(now()))
        tell(message, failure(errc::stopped, "the producer was destroyed"));
    tell_onlookers();
    wake_.ring();
}

producer_explanation producer::state::explain() const
{
    auto out = queue_.explain();
    if (!problem_.empty())
        out.last_problem = {problem_, std::chrono::duration_cast<std::chrono::milliseconds>(now() - problem_at_)};
    return out;
}

void producer::state::spawn(asio::awaitable<void> work)
{
    asio::co_spawn(strand, std::move(work), [self = shared_from_this()](std::exception_ptr bug) {
        if (bug) std::rethrow_exception(bug); // values carry every expected failure: this must not vanish
    });
}

asio::awaitable<void> producer::state::run()
{
    // Messages that are sent at one moment share the first request: go behind the senders that wait for the executor,
    // then behind what they have put on the strand.
    co_await asio::post(strand, asio::use_awaitable);
    co_await asio::post(strand, asio::use_awaitable);
    for (auto wake_at = turn(now()); !queue_.empty(); wake_at = turn(now()))
        co_await wake_.wait(wake_at);
    running_ = false;
}

/// Starts whatever is due; says when time alone will make more due.
std::optional<tick> producer::state::turn(tick time)
{
    if (close_at_ && time >= *close_at_) give_up(time);
    for (auto const& message : queue_.expired(time)) {
        auto const* const what = message->attempts == 0 ? "not sent" : "not confirmed";
        tell(message, failure(errc::timed_out, std::string(what) + " within give_up_after", true));
    }
    for (auto batch = queue_.take(time); !batch.empty(); batch = queue_.take(time))
        spawn(call(std::move(batch)));
    tell_onlookers();

    auto wake_at = queue_.wake_at();
    if (close_at_ && *close_at_ > time) wake_at = std::min(wake_at.value_or(*close_at_), *close_at_);
    return wake_at;
}

asio::awaitable<void> producer::state::call(std::vector<outgoing_ptr> batch)
{
    std::vector<sqs::send_message_entry> entries;
    entries.reserve(batch.size());
    for (auto const& message : batch)
        entries.push_back(message->entry); // a copy: it may be sent again
    auto const began = now();
    auto answers = co_await sqs::send_batch(api_, queue_url_, std::move(entries));

    auto const time = now();
    auto const how = end_of(answers); // before they are handed on
    if (options_.observer) {
        auto const bad = std::ranges::count_if(answers, [](auto const& one) { return one.has_error(); });
        observe(&producer_observer::batch_done, batch.size(), static_cast<std::size_t>(bad), time - began);
    }
    for (std::size_t i = 0; i != batch.size(); ++i) {
        bool const may_help = !answers[i] && answers[i].error().retryable;
        if (queue_.answered(batch[i], may_help, time)) {
            tell(batch[i], std::move(answers[i]));
        } else {
            problem_ = describe(answers[i].error());
            problem_at_ = time;
            log_.write(log_level::warning, "send failed", problem_, time);
        }
    }
    queue_.returned(how, time - began, batch.size(), time);
    wake_.ring();
}

/// The time to close has passed.
void producer::state::give_up(tick time)
{
    for (auto const& message : queue_.stop(time))
        tell(message, failure(errc::stopped, "closed before it could be sent"));
    for (auto const& message : queue_.under_way())
        tell(message, failure(errc::stopped, "closed before it was confirmed: it may be in the queue"));
    for (auto const& who : std::exchange(onlookers_, {}))
        who->sender.tell(who->failed);
    if (own_client_) own_client_->close();
}

void producer::state::tell(outgoing_ptr const& message, send_result how)
{
    auto const sender = std::exchange(message->sender, {});
    if (!sender) return; // told before
    if (options_.observer) {
        observed_send seen;
        seen.group = message->entry.group_id ? std::string_view(*message->entry.group_id) : std::string_view();
        seen.attempts = message->attempts;
        seen.took = now() - message->came_at;
        if (how) seen.message_id = how->message_id;
        if (how)
            observe(&producer_observer::sent, seen);
        else
            observe(&producer_observer::send_failed, seen, how.error());
    }
    if (!how) {
        for (auto const& who : onlookers_) {
            if (message->number < who->mark) ++who->failed;
        }
    }
    sender.tell(std::move(how));
}

template <class... Told, class... Args>
void producer::state::observe(void (producer_observer::*event)(Told...), Args const&... args)
{
    try {
        (options_.observer.get()->*event)(args...);
    } catch (...) { // what we are in the middle of must be finished
        log_.write(log_level::error, "observer", "threw: " + what_thrown(std::current_exception()), now());
    }
}

void producer::state::tell_onlookers()
{
    std::erase_if(onlookers_, [this](onlooker_ptr const& who) {
        bool const over = queue_.passed(who->mark);
        if (over) who->sender.tell(who->failed);
        return over;
    });
    if (closed_ && queue_.empty() && own_client_) own_client_->close();
}

namespace {

/// Puts the caller's wish on the strand: `begin`, and `cancel` when the caller is cancelled, run there. Its waiting
/// does not keep the state alive.
template <class T, class State, class Wish>
asio::awaitable<T> put_on_strand(std::shared_ptr<State> state, std::shared_ptr<Wish> wish,
    void (State::*begin)(std::shared_ptr<Wish>), void (State::*cancel)(std::shared_ptr<Wish> const&))
{
    auto when_cancelled = [s = std::weak_ptr(state), w = std::weak_ptr(wish), cancel] {
        auto const whom = s.lock();
        auto const what = w.lock();
        if (whom && what) asio::post(whom->strand, [whom, what, cancel] { (*whom.*cancel)(what); });
    };
    auto at_once = [s = std::move(state), w = std::move(wish), begin](asker<T> sender) mutable {
        w->sender = std::move(sender);
        auto const strand = s->strand;
        asio::post(strand, [s = std::move(s), w = std::move(w), begin] { (*s.*begin)(w); });
    };
    return ask<T>(std::move(at_once), std::move(when_cancelled));
}

producer_options checked(producer_options options, std::string const& queue_url)
{
    throw_wrong(sqs::check_queue("queue_url", queue_url));
    throw_wrong(options.validate(queue_url.ends_with(".fifo")));
    return options;
}

} // namespace

producer::producer(asio::any_io_executor ex, std::string queue_url, producer_options options)
    : ex_(ex),
      state_(std::make_shared<state>(std::move(ex), nullptr, queue_url, checked(std::move(options), queue_url)))
{}

producer::producer(asio::any_io_executor ex, sqs::api& api, std::string queue_url, producer_options options)
    : ex_(ex), state_(std::make_shared<state>(std::move(ex), &api, queue_url, checked(std::move(options), queue_url)))
{}

producer::~producer()
{
    if (!state_) return;
    auto const strand = state_->strand;
    asio::post(strand, [s = std::move(state_)] { s->abandon(); });
}

producer& producer::operator=(producer&& from) noexcept
{
    producer moved(std::move(from));
    std::swap(ex_, moved.ex_);
    std::swap(state_, moved.state_);
    return *this;
}

asio::awaitable<send_result> producer::put(sqs::send_message_entry entry)
{
    return put_on_strand<send_result>(
        state_, std::make_shared<outgoing>(std::move(entry)), &state::accept, &state::withdraw);
}

asio::awaitable<producer_explanation> producer::explained() const
{
    auto at_once = [s = state_](asker<producer_explanation> who) {
        asio::post(s->strand, [s, who = std::move(who)] { who.tell(s->explain()); });
    };
    return ask<producer_explanation>(std::move(at_once));
}

asio::awaitable<std::size_t> producer::look_on(std::optional<std::chrono::milliseconds> closes_within)
{
    return put_on_strand<std::size_t>(
        state_, std::make_shared<onlooker>(closes_within), &state::flush, &state::forget);
}

} // namespace quern
