#include <quern/consumer/consumer.hpp>
#include <quern/consumer/detail/pipeline.hpp>
#include <quern/core/detail/ask.hpp>
#include <quern/core/detail/throw_wrong.hpp>
#include <quern/sqs/queue_reference.hpp>
#include <quern/telemetry/detail/plain_numbers.hpp>

#include <csignal>
#include <tuple>

namespace quern {

using namespace detail;
namespace asio = boost::asio;

namespace {

/// A bare name may be that of either, so with one of them equal names count.
bool may_be_the_same(std::string_view a, std::string_view b)
{
    auto const is_bare = a == sqs::queue_name_in(a) || b == sqs::queue_name_in(b);
    return a == b || (is_bare && sqs::queue_name_in(a) == sqs::queue_name_in(b));
}

std::optional<failure> unusable(std::string const& queue_url, handlers const& handle, consumer_options const& options)
{
    auto const wrong = [](char const* what) { return failure(errc::invalid_option, what); };
    if (handle.is_empty()) {
        return wrong("the handler is an empty function: give the consumer one that can be called");
    }
    if (auto no_queue = sqs::check_queue("queue_url", queue_url)) return no_queue;
    if (!options.poison_queue) return options.validate();
    if (auto no_queue = sqs::check_queue("poison_queue", *options.poison_queue)) return no_queue;
    if (may_be_the_same(*options.poison_queue, queue_url)) {
        return wrong(
            "poison_queue is the queue that is consumed: rejected messages would come back for ever. For queues "
            "of one name in two accounts give both URLs, or both ARNs");
    }
    return options.validate();
}

/// Throws when the client has too few connections left for one more consumer.
sqs::lane_claim claim_places(sqs::api& api, consumer_options const& options)
{
    auto out = api.claim({options.limits.max_polls, options.settle.max_calls});
    if (!out.refused) return out;
    auto const too_few = [](std::string option, std::size_t wanted, std::string lane, std::size_t free) {
        throw_exception_from_error(
            failure(errc::invalid_option,
                option + ' ' + std::to_string(wanted) + " needs " + std::to_string(wanted) + ' ' + lane +
                    " connections of the client, " + std::to_string(free) + (free == 1 ? " is" : " are") +
                    " free: raise client_options::connections." + lane +
                    "_connections, see client_options_for(), or give the consumer a client of its own"),
            BOOST_CURRENT_LOCATION);
    };
    if (out.refused->data < options.limits.max_polls)
        too_few("max_polls", options.limits.max_polls, "data", out.refused->data);
    too_few("settle.max_calls", options.settle.max_calls, "control", out.refused->control);
    return out;
}

/// On the strand it would be thrown out of the context.
void check_signal(int number)
{
    struct sigaction now = {};
    if (number != SIGKILL && number != SIGSTOP && ::sigaction(number, nullptr, &now) == 0) return;
    throw_exception_from_error(failure(errc::invalid_option,
                                   "drain_on: signal " + std::to_string(number) +
                                       " cannot be caught; those that ask a process to end are SIGTERM and SIGINT"),
        BOOST_CURRENT_LOCATION);
}

} // namespace

consumer::consumer(
    asio::any_io_executor ex, sqs::api* api, std::string queue_url, handlers handle, consumer_options options)
    : ex_(ex)
{
    throw_wrong(unusable(queue_url, handle, options));
    auto places = api ? claim_places(*api, options) : sqs::lane_claim();
    at_ = pipeline::move_in(std::move(places), std::move(ex), api, std::move(queue_url), std::move(handle),
        std::move(options), counters_);
}

namespace {

/// Keeps the pipeline from going, once its consumer has, before somebody has joined it who has only said so.
class guest {
public:
    explicit guest(lodgers::place to) : at_(std::move(to))
    {
        visit_tenant<pipeline>(at_, [](auto const& all) { all->came(); });
    }
    guest(guest const&) = delete;
    ~guest()
    {
        post_to<pipeline>(at_, [](pipeline& p) { p.left(); });
    }

private:
    lodgers::place at_;
};

} // namespace

consumer::~consumer()
{
    if (at_.home) post_to<pipeline>(at_, [](pipeline& p) { p.abandon(); });
}

consumer& consumer::operator=(consumer&& from) noexcept
{
    consumer moved(std::move(from));
    std::swap(ex_, moved.ex_);
    std::swap(at_, moved.at_);
    std::swap(counters_, moved.counters_);
    return *this;
}

void consumer::start()
{
    post_to<pipeline>(at_, [](pipeline& p) { p.start(); });
}

void consumer::stop(std::optional<std::chrono::milliseconds> limit)
{
    post_to<pipeline>(at_, [limit](pipeline& p) { p.begin_drain(limit.value_or(p.options().drain_deadline)); });
}

// None touches the consumer once it has returned its awaitable, and nothing of the caller's runs on the strand.

asio::awaitable<drain_report> consumer::drain_within(std::chrono::milliseconds limit)
{
    auto begin = [limit](pipeline& p) { p.begin_drain(limit); };
    return wait_for_end<pipeline>(at_, begin, &end_waiter::of_drain, std::make_shared<guest>(at_));
}

asio::awaitable<drain_report> consumer::end_of_drain()
{
    auto nothing = [](pipeline&) {};
    return wait_for_end<pipeline>(at_, nothing, &end_waiter::of_drain, std::make_shared<guest>(at_));
}

asio::awaitable<result<drain_report>> consumer::run_to_end()
{
    auto begin = [](pipeline& p) { p.start(); };
    return wait_for_end<pipeline>(at_, begin, &end_waiter::of_run, std::make_shared<guest>(at_));
}

void consumer::pause(std::string why)
{
    post_to<pipeline>(at_, [why = std::move(why)](pipeline& p) mutable { p.pause(std::move(why)); });
}

void consumer::resume()
{
    post_to<pipeline>(at_, [](pipeline& p) { p.resume(); });
}

void consumer::report_outage(bool down)
{
    post_to<pipeline>(at_, [down](pipeline& p) { p.outages().report_outage(down); });
}

void consumer::probe_now()
{
    post_to<pipeline>(at_, [](pipeline& p) { p.outages().probe_now(); });
}

asio::awaitable<consumer::burden> consumer::weigh() const
{
    return ask<burden>([at = at_](asker<burden> who) {
        post_to<pipeline>(at, [who = std::move(who)](pipeline& p) {
            burden out;
            std::tie(out.in_flight, out.coming, out.ending) = p.burden();
            who.tell(out);
        });
    });
}

void consumer::halt()
{
    post_to<pipeline>(at_, [](pipeline& p) { p.halt(); });
}

asio::awaitable<result<void>> consumer::turn_limits(std::function<void(consumer_limits&)> change)
{
    return ask<result<void>>([at = at_, change = std::move(change)](asker<result<void>> who) {
        post_to<pipeline>(at, [who = std::move(who), change](pipeline& p) { who.tell(p.set_limits(change)); });
    });
}

asio::awaitable<explanation> consumer::explained() const
{
    return ask<explanation>([at = at_](asker<explanation> who) {
        post_to<pipeline>(at, [who = std::move(who)](pipeline& p) { who.tell(p.explain()); });
    });
}

void consumer::drain_on(std::initializer_list<int> signals, std::optional<std::chrono::milliseconds> given)
{
    for (auto const s : signals)
        check_signal(s);
    post_to<pipeline>(at_, [given, list = std::vector<int>(signals)](pipeline& p) {
        p.drain_on(list, given.value_or(p.options().drain_deadline));
    });
}

consumer_counters consumer::counters() const
{
    return telemetry::detail::plain_numbers(*counters_);
}

std::size_t consumer::in_flight() const
{
    std::size_t out = 0;
    visit_tenant<pipeline>(at_, [&out](auto const& all) { out = all->in_flight(); });
    return out;
}

} // namespace quern
