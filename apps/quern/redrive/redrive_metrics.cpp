#include "redrive/redrive_metrics.hpp"

#include "common/complaint.hpp"
#include "common/service_options.hpp"
#include "common/standard_streams.hpp"

#include <quern/core/detail/text/json_writer.hpp>
#include <quern/sqs/queue_reference.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/system/system_error.hpp>

#include <utility>
#include <vector>

namespace quern::app {

using namespace quern::detail;

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr char const* name_space = "DLQRedriver";
constexpr auto every = 60s; // CloudWatch keeps a value a minute

using counts = std::vector<std::pair<char const*, std::size_t>>;

/// The counts between two reports; of what waits, how much it is.
counts since(redrive::report const& before, redrive::report const& r)
{
    auto const failed = [](redrive::report const& one) { return one.failures + one.left; };
    return {{"SuccessfulRedrives", r.redriven - before.redriven},
        {"PoisonPillsIsolated", r.isolated - before.isolated}, {"RedriveFailures", failed(r) - failed(before)},
        {"Returned", r.came_back - before.came_back}, {"Skipped", r.skipped - before.skipped},
        {"Unknown", r.maybe_twice - before.maybe_twice}, {"Waiting", r.waiting}};
}

std::string emf_line(counts const& all, std::string_view queue, wall_time now)
{
    std::string out;
    text::json_writer json(out);
    json.begin_object().member("QueueName", queue);
    for (auto const& [name, count] : all)
        json.member(name, static_cast<std::int64_t>(count));
    json.key("_aws").begin_object();
    json.member("Timestamp", std::chrono::floor<std::chrono::milliseconds>(now.time_since_epoch()).count());
    json.key("CloudWatchMetrics").begin_array().begin_object().member("Namespace", name_space);
    json.key("Dimensions").begin_array().begin_array().string("QueueName").end_array().end_array();
    json.key("Metrics").begin_array();
    for (auto const& [name, count] : all)
        json.begin_object().member("Name", name).member("Unit", "Count").end_object();
    json.end_array().end_object().end_array().end_object().end_object();
    return out + '\n';
}

} // namespace

redrive_metrics::redrive_metrics(session& s, std::string queue)
    : session_(s), queue_(std::move(queue)), next_at_(real_clock().now() + every),
      over_(real_clock(), s.io.get_executor())
{}

result<std::shared_ptr<redrive_metrics>> redrive_metrics::open(
    session& s, std::string const& form, std::string_view queue_url, redrive::run_book::tally const& before)
try {
    std::shared_ptr<redrive_metrics> out;
    if (form.empty()) return out;
    out.reset(new redrive_metrics(s, std::string(sqs::queue_name_in(queue_url))));
    out->told_.redriven = before.redriven;
    out->told_.isolated = before.isolated;
    out->told_.failures = before.failures;
    out->told_.maybe_twice = before.maybe_twice;
    if (form != "cloudwatch") return out;
    aws::client_options options;
    options.request_timeout = 5s;
    options.retries.max_attempts = 1; // what may have been counted must not be counted twice
    auto const settled = settle(
        options, aws::cloudwatch_service, {{}, s.options.where.region, s.options.profile}, aws::process_environment);
    if (!settled) return settled.error();
    if (!options.credentials) options.credentials = s.sqs.credentials();
    out->to_.emplace(s.io.get_executor(), std::move(options));
    return out;
} catch (boost::system::system_error const& e) {
    return failure(errc::invalid_option, "--metrics " + form + ": " + e.what());
}

void redrive_metrics::tell(redrive::report const& r)
{
    if (!to_ || busy_ || real_clock().now() < next_at_) return;
    next_at_ = real_clock().now() + every;
    busy_ = true;
    asio::co_spawn(session_.io, put(r), [self = shared_from_this()](std::exception_ptr bug) {
        if (bug) std::rethrow_exception(bug);
        self->busy_ = false;
        self->over_.ring();
    });
}

asio::awaitable<void> redrive_metrics::put(redrive::report r)
{
    services::put_metric_data_request request(name_space, queue_, session_.sqs.clock_offset() + real_clock().wall());
    for (auto const& [name, count] : since(told_, r))
        request.counts.emplace_back(name, static_cast<double>(count));
    auto const done = co_await to_->put_metric_data(std::move(request));
    bool const was_not_counted = !done && done.error().code == errc::throttled;
    if (!was_not_counted) told_ = std::move(r);
    if (!done) log_line(log_level::warning, "metrics: not sent to CloudWatch: " + describe(done.error()));
}

asio::awaitable<void> redrive_metrics::finish(redrive::report r)
{
    if (!to_) {
        say(stdout, "{}", emf_line(since(told_, r), queue_, real_clock().wall()));
        co_return;
    }
    while (busy_)
        co_await over_.wait();
    co_await put(std::move(r));
    to_->close();
}

} // namespace quern::app
