#include "redrive/redrive_door.hpp"

#include "common/complaint.hpp"

#include <quern/telemetry/numbers.hpp>

#include <boost/asio/co_spawn.hpp>

#include <utility>

namespace quern::app {

namespace asio = boost::asio;
using telemetry::id;

/// The counts of a run, as a source of metrics.
class redrive_door::counts final : public metrics::source {
public:
    explicit counts(telemetry::source_labels labels) : n_(telemetry::part::redrive, std::move(labels)) {}

    void set(redrive::report const& r)
    {
        raise(id::redrive_messages, 0, r.redriven);
        raise(id::redrive_messages, 1, r.isolated);
        raise(id::redrive_messages, 2, r.skipped);
        raise(id::redrive_messages, 3, r.left);
        raise(id::redrive_returns, 0, r.came_back);
        raise(id::redrive_failures, 0, r.failures);
    }
    void add_to(std::vector<telemetry::reading>& to) const override { to.push_back(n_.read()); }

private:
    void raise(id which, std::size_t series, std::uint64_t to)
    {
        auto const before = n_.count(which, series);
        if (to > before) n_.add(which, series, to - before);
    }

    telemetry::numbers n_;
};

redrive_door::redrive_door(session& s, std::string dlq_url)
    : session_(s), url_(std::move(dlq_url)), all_(QUERN_VERSION), of_consumer_(all_.consumer(url_)),
      of_run_(std::make_shared<counts>(of_consumer_->labels())), over_(real_clock(), s.io.get_executor())
{
    all_.add(of_run_);
}

result<std::shared_ptr<redrive_door>> redrive_door::open(session& s, admin_options const& said, std::string dlq_url)
{
    std::shared_ptr<redrive_door> out;
    if (!said.port) return out;
    out.reset(new redrive_door(s, std::move(dlq_url)));
    auto opened =
        admin_port::open(said, "quern redrive", s.io.get_executor(), [&all = out->all_] { return all.snapshot(); });
    if (!opened) return opened.error();
    out->port_ = std::move(*opened);
    return out;
}

void redrive_door::watch(redrive::options& o)
{
    auto const self = shared_from_this();
    o.observer = port_->observe(url_, of_consumer_);
    o.begins = [self](consumer const& c) { self->begin(c); };
    o.ends = [self] { return self->end(); };
}

void redrive_door::tell(redrive::report const& r)
{
    if (!r.dry_run) of_run_->set(r);
}

void redrive_door::begin(consumer const& c)
{
    of_consumer_->follow(c);
    port_->watch(url_, c);
    port_->begin();
    metrics::sampler_options looks;
    looks.depth_every = std::chrono::milliseconds(0); // the redriver asks for it itself
    looks.log = to_stderr();
    sampler_.emplace(session_.io.get_executor(), session_.sqs, all_, std::move(looks));
    sampler_->add(c, url_, of_consumer_);
    sampling_ = true;
    asio::co_spawn(session_.io, sampler_->run(), [self = shared_from_this()](std::exception_ptr bug) {
        if (bug) std::rethrow_exception(bug);
        self->sampling_ = false;
        self->over_.ring();
    });
}

asio::awaitable<void> redrive_door::end()
{
    co_await port_->end();
    sampler_->end();
    while (sampling_)
        co_await over_.wait();
}

} // namespace quern::app
