#include "redrive/redrive_door.hpp"

#include <quern/sqs/queue_reference.hpp>
#include <quern/telemetry/numbers.hpp>

#include <utility>

namespace quern::app {

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

redrive_door::redrive_door(std::unique_ptr<admin::host> port, std::string dlq_url)
    : url_(std::move(dlq_url)), port_(std::move(port)), of_consumer_(port_->observe(url_)),
      of_run_(std::make_shared<counts>(telemetry::source_labels{{"queue", std::string(sqs::queue_name_in(url_))}}))
{
    port_->numbers().add(of_run_);
}

result<std::shared_ptr<redrive_door>> redrive_door::open(session& s, admin_options const& said, std::string dlq_url)
{
    std::shared_ptr<redrive_door> out;
    auto port = open_admin_port(said, "quern redrive", s.io.get_executor());
    if (!port) return port.error();
    if (*port) out.reset(new redrive_door(std::move(*port), std::move(dlq_url)));
    return out;
}

void redrive_door::watch(redrive::options& o)
{
    auto const self = shared_from_this();
    o.observer = of_consumer_;
    o.begins = [self](consumer const& c) {
        self->port_->watch(self->url_, c);
        self->port_->begin().value(); // it listens already
    };
    o.ends = [self] { return self->port_->end(); };
}

void redrive_door::tell(redrive::report const& r)
{
    if (!r.dry_run) of_run_->set(r);
}

} // namespace quern::app
