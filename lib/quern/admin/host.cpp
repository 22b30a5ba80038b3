#include <quern/admin/host.hpp>
#include <quern/sqs/queue_reference.hpp>
#include <quern/telemetry/prometheus.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <map>
#include <thread>
#include <utility>
#include <vector>

namespace quern::admin {

namespace asio = boost::asio;

namespace {

/// Observers of one queue's consumer.
struct seen {
    std::shared_ptr<recorder> shown;
    std::shared_ptr<metrics::consumer_metrics> counted; ///< null: somebody else counts
};

} // namespace

struct host::state {
    state(asio::any_io_executor ex, host_options o, clock& t)
        : looks_on(asio::make_strand(std::move(ex))), time(t), log(std::move(o.log)), counts(!o.numbers),
          numbers(std::move(o.version), time), shown(std::make_shared<board>(time.now())),
          looking(std::make_shared<reporter>(looks_on, shown, time)),
          port(io.get_executor(), options_of(std::move(o)), shown, time)
    {}

    ~state()
    {
        asio::post(io, [this] { port.close(); });
        work.reset();
        if (thread.joinable()) thread.join();
    }

    door_options options_of(host_options o)
    {
        door_options out;
        out.web = std::move(o.web);
        out.program = std::move(o.program);
        out.wanted = std::move(o.wanted);
        if (counts) o.numbers = [this] { return numbers.snapshot(); };
        out.metrics = [all = o.numbers] { return telemetry::prometheus_text(all()); };
        out.openmetrics = [all = o.numbers] { return telemetry::openmetrics_text(all()); };
        if (o.may_act) out.probe = [this] { asio::post(looks_on, [all = probed, to = log] { probe(*all, to); }); };
        return out;
    }

    static void probe(std::vector<consumer*> const& all, log_sink const& to)
    {
        if (!all.empty() && to) to(log_level::info, "what waits for better times is tried now: the page asks");
        for (auto* const one : all)
            one->probe_now();
    }

    asio::any_io_executor const looks_on; // a strand
    clock& time;
    log_sink const log;
    bool const counts; // itself
    metrics::collection numbers;
    std::map<std::string, seen> queues; // by URL
    std::shared_ptr<std::vector<consumer*>> const probed =
        std::make_shared<std::vector<consumer*>>(); // on the strand
    std::shared_ptr<board> const shown;
    std::shared_ptr<reporter> const looking;

    asio::io_context io{1};
    asio::executor_work_guard<asio::io_context::executor_type> work = make_work_guard(io);
    door port;
    std::thread thread;
};

namespace {

asio::awaitable<void> let_go(std::shared_ptr<std::vector<consumer*>> probed, std::shared_ptr<reporter> looking)
{
    probed->clear();
    co_await looking->end();
}

} // namespace

host::host(asio::any_io_executor of_consumers, host_options o, clock& time)
    : state_(std::make_unique<state>(std::move(of_consumers), std::move(o), time))
{}

host::~host() = default;

std::shared_ptr<observer> host::observe(std::string const& queue_url, std::shared_ptr<observer> next)
{
    auto& its = state_->queues[queue_url];
    if (state_->counts) {
        its.counted = state_->numbers.consumer(queue_url);
        next = std::make_shared<forwarding_observer>(its.counted, std::move(next));
    }
    return its.shown = std::make_shared<recorder>(state_->time, std::move(next));
}

void host::watch(std::string const& queue_url, consumer const& of)
{
    auto const& its = state_->queues.at(queue_url);
    auto const name = sqs::queue_name_in(queue_url);
    bool alone = true; // queues of two accounts may have one name
    for (auto const& [other, others] : state_->queues)
        alone = alone && (other == queue_url || sqs::queue_name_in(other) != name);
    if (its.counted) its.counted->follow(of);
    state_->looking->watch(alone ? std::string(name) : queue_url, of, its.shown, its.counted);
}

void host::watch(std::string const& queue_url, consumer& of)
{
    watch(queue_url, std::as_const(of));
    state_->probed->push_back(&of);
}

result<void> host::listen()
{
    if (state_->thread.joinable()) return {};
    if (auto const listening = state_->port.listen(); !listening) return listening.error();
    state_->thread = std::thread([&io = state_->io] { io.run(); });
    return {};
}

result<void> host::begin()
{
    auto listening = listen();
    if (listening) state_->looking->begin();
    return listening;
}

asio::awaitable<void> host::end()
{
    co_await asio::co_spawn(state_->looks_on, let_go(state_->probed, state_->looking), asio::use_awaitable);
}

std::string host::url() const
{
    return state_->port.url();
}

metrics::collection& host::numbers()
{
    return state_->numbers;
}

} // namespace quern::admin
