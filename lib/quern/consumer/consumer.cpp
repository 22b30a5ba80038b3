#include <quern/consumer/detail/pipeline.hpp>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <csignal>

namespace quern {

namespace asio = boost::asio;

namespace {

std::optional<failure> unusable(std::string const& queue_url, handlers const& handle, consumer_options const& options)
{
    auto const wrong = [](char const* what) { return failure(errc::invalid_option, what); };
    if (!handle.call && !handle.one && !handle.plain && !handle.many) {
        return wrong("the handler is an empty function: give the consumer one that can be called");
    }
    if (!options.poison_queue_url.empty() && options.poison_queue_url == queue_url) {
        return wrong("poison_queue_url is the queue that is consumed: rejected messages would come back for ever");
    }
    return options.validate();
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
{
    if (auto const wrong = unusable(queue_url, handle, options)) {
        throw_exception_from_error(*wrong, BOOST_CURRENT_LOCATION);
    }
    pipeline_ =
        std::make_shared<pipeline>(std::move(ex), api, std::move(queue_url), std::move(handle), std::move(options));
}

// Posted, all of them: on a thread of the context a dispatched call could run what waits on the strand, classify and the log
// included, on the stack of its caller, who may hold the lock that these want.

consumer::~consumer()
{
    asio::post(pipeline_->strand, [p = pipeline_] { p->abandon(); });
}

void consumer::start()
{
    asio::post(pipeline_->strand, [p = pipeline_] { p->start(); });
}

// Neither touches the consumer once it has returned its awaitable, and nothing of the caller's runs on the strand.

asio::awaitable<drain_report> consumer::drain(std::chrono::milliseconds limit)
{
    asio::post(pipeline_->strand, [p = pipeline_, limit] { p->begin_drain(limit); });
    return drained();
}

asio::awaitable<drain_report> consumer::drained()
{
    auto join = [given = pipeline_](auto caller) mutable {
        auto const to = std::move(given); // the waiter must not keep alive the pipeline that keeps it
        auto const one = std::make_shared<drain_waiter>();
        auto slot = asio::get_associated_cancellation_slot(caller);
        if (slot.is_connected()) {
            slot.assign([line = std::weak_ptr(to), who = std::weak_ptr(one)](asio::cancellation_type) {
                auto const still = line.lock();
                if (still) asio::post(still->strand, [still, who] { still->leave(who.lock()); });
            });
        }
        auto const work = asio::make_work_guard(asio::get_associated_executor(caller));
        auto const resume = std::make_shared<decltype(caller)>(std::move(caller));
        one->tell = [resume, work](boost::system::error_code ec, drain_report const& report) {
            asio::post(work.get_executor(), [resume, ec, report] {
                asio::get_associated_cancellation_slot(*resume).clear();
                std::move (*resume)(ec, report);
            });
        };
        asio::post(to->strand, [to, one] { to->join(one); });
    };
    return asio::async_initiate<asio::use_awaitable_t<> const, void(boost::system::error_code, drain_report)>(
        std::move(join), asio::use_awaitable);
}

void consumer::pause(std::string why)
{
    asio::post(pipeline_->strand, [p = pipeline_, why = std::move(why)]() mutable { p->pause(std::move(why)); });
}

void consumer::resume()
{
    asio::post(pipeline_->strand, [p = pipeline_] { p->resume(); });
}

void consumer::report_outage(bool down)
{
    asio::post(pipeline_->strand, [p = pipeline_, down] { p->force_open(down); });
}

asio::awaitable<explanation> consumer::explain() const
{
    auto ask = [of = pipeline_](auto caller) mutable {
        auto const work = asio::make_work_guard(asio::get_associated_executor(caller));
        auto const resume = std::make_shared<decltype(caller)>(std::move(caller));
        asio::post(of->strand, [of, resume, work] {
            asio::post(work.get_executor(), [resume, said = of->explain()] { std::move (*resume)(said); });
        });
    };
    return asio::async_initiate<asio::use_awaitable_t<> const, void(explanation)>(
        std::move(ask), asio::use_awaitable);
}

void consumer::drain_on(std::initializer_list<int> signals, std::optional<std::chrono::milliseconds> given)
{
    for (auto const s : signals)
        check_signal(s);
    auto const limit = given.value_or(pipeline_->options.drain_deadline);
    asio::post(
        pipeline_->strand, [p = pipeline_, limit, list = std::vector<int>(signals)] { p->drain_on(list, limit); });
}

consumer_counters consumer::counters() const
{
    static_assert(sizeof(consumer_counters) == 16 * sizeof(std::uint64_t), "a number is missing below");
    auto const& now = pipeline_->counters;
    return {now.polls, now.empty_polls, now.failed_polls, now.repeated_polls, now.settle_calls, now.received,
        now.adopted, now.damaged, now.acked, now.retried, now.released, now.rejected, now.malformed, now.extended,
        now.spilled, now.lost};
}

std::size_t consumer::in_flight() const
{
    return pipeline_->in_flight.size();
}

} // namespace quern
