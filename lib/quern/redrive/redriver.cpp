#include <quern/redrive/redriver.hpp>

#include <quern/consumer/client_options.hpp>
#include <quern/redrive/detail/state.hpp>

#include <boost/system/system_error.hpp>

#include <utility>

namespace quern::redrive {

using namespace detail;
namespace asio = boost::asio;
using namespace std::chrono_literals;

consumer_options detail::consumer_settings(options const& o)
{
    consumer_options out;
    out.limits.max_in_flight = o.concurrency;
    out.wait_time = o.wait_time;
    out.visibility_timeout = o.visibility_timeout;
    out.drain_deadline = o.drain_deadline;
    out.system_attributes = {"SentTimestamp", "MessageGroupId", "DeadLetterQueueSourceArn", "AWSTraceHeader"};
    out.backoff = policy::backoff::exponential(1s, 2.0, 30s);
    out.settle.linger = 2ms;    // sends that shared a request end together, and so do their deletes begin
    out.outage.breaker.reset(); // the rules of the run decide
    out.stall_after.reset();    // a canary is watched for longer
    out.give_up.at_start_after = 0ms;
    out.give_up.after = 60s;
    out.poison_queue = o.dlq_url + "-none"; // nothing is rejected here, so nobody need ask where that would go
    out.observer = o.observer;
    out.log = o.log;
    out.time = o.time;
    out.seed = o.seed;
    return out;
}

std::optional<failure> options::validate() const
{
    auto const wrong = [](char const* what) { return failure(errc::invalid_option, what); };
    if (dlq_url.empty()) return wrong("dlq_url is empty");
    if (to_url == dlq_url) return wrong("to_url is the dead-letter queue itself: what is sent would come again");
    if (poison_url == dlq_url)
        return wrong("poison_url is the dead-letter queue itself: what is isolated would come again");
    if (!to_url.empty() && poison_url == to_url)
        return wrong("poison_url is to_url: what is isolated would be tried again");
    for (auto const& one : targets) {
        if (one.url.empty()) return wrong("targets: a url is empty");
        if (one.url == dlq_url)
            return wrong("targets: one is the dead-letter queue itself: what is sent would come again");
        if (one.url == poison_url) return wrong("targets: one is poison_url: what is isolated would be tried again");
    }
    if (record && (keep || dry_run)) return wrong("a journal is of what was done: not with keep or dry_run");
    if (plan.waits && !record) return wrong("plan.waits needs a journal");
    if (plan.isolate_all && plan.isolate_all->empty()) return wrong("isolate_all: a reason must not be empty");
    if (plan.isolate_all && poison_url.empty()) return wrong("isolate_all needs a poison_url");
    if (concurrency < 1 || concurrency > 10'000) return wrong("concurrency must be 1 to 10,000");
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

redriver::redriver(asio::any_io_executor ex, sqs::api& api, options o)
{
    if (auto const wrong = o.validate()) throw boost::system::system_error(wrong->code, wrong->message);
    state_ = std::make_shared<redriver_state>(std::move(ex), api, std::move(o));
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
