#include <quern/consumer/pipeline.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace quern {

namespace asio = boost::asio;

consumer::consumer(
    asio::any_io_executor ex, sqs::api* api, std::string queue_url, handler handle, consumer_options options)
{
    auto wrong = options.validate();
    if (queue_url.ends_with(".fifo")) {
        wrong = failure(errc::invalid_option, "FIFO queues are not supported yet: their order would be lost");
    }
    if (wrong) throw_exception_from_error(*wrong, BOOST_CURRENT_LOCATION);
    pipeline_ =
        std::make_shared<pipeline>(std::move(ex), api, std::move(queue_url), std::move(handle), std::move(options));
}

consumer::~consumer()
{
    asio::dispatch(pipeline_->strand, [p = pipeline_] { p->abandon(); });
}

void consumer::start()
{
    asio::dispatch(pipeline_->strand, [p = pipeline_] { p->start(); });
}

asio::awaitable<drain_report> consumer::drain(std::chrono::milliseconds limit)
{
    asio::dispatch(pipeline_->strand, [p = pipeline_, limit] { p->begin_drain(limit); });
    return drained();
}

asio::awaitable<drain_report> consumer::drained()
{
    auto const keep = pipeline_;
    auto over = keep->drained();
    auto const report = co_await asio::co_spawn(keep->strand, std::move(over), asio::use_awaitable);
    co_return report;
}

void consumer::drain_on(std::initializer_list<int> signals, std::optional<std::chrono::milliseconds> given)
{
    auto const limit = given.value_or(pipeline_->options.drain_deadline);
    asio::dispatch(
        pipeline_->strand, [p = pipeline_, limit, list = std::vector<int>(signals)] { p->drain_on(list, limit); });
}

consumer_counters const& consumer::counters() const
{
    return pipeline_->counters;
}

std::size_t consumer::in_flight() const
{
    return pipeline_->in_flight.size();
}

} // namespace quern
