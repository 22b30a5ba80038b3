#include <quern/metrics/collection.hpp>
#include <quern/sqs/queue_reference.hpp>

#include <algorithm>

namespace quern::metrics {

using telemetry::id;
using telemetry::part;

class collection::asked final : public source {
public:
    explicit asked(std::function<telemetry::reading()> read) : read_(std::move(read)) {}
    void add_to(std::vector<telemetry::reading>& to) const override { to.push_back(read_()); }

private:
    std::function<telemetry::reading()> const read_;
};

/// Rare, and of any thread.
class collection::losses final : public source {
public:
    void add(std::size_t signal, std::uint64_t count)
    {
        std::lock_guard const held(lock_);
        n_.add(id::telemetry_dropped, signal, count);
    }
    void add_to(std::vector<telemetry::reading>& to) const override { to.push_back(n_.read()); }

private:
    std::mutex lock_;
    telemetry::numbers n_{part::exporter, {}};
};

collection::collection(std::string version, clock& time)
    : time_(time), since_(time.wall()), losses_(std::make_shared<losses>())
{
    add(losses_);
    if (version.empty()) return;
    telemetry::numbers built(part::program, {{"version", std::move(version)}});
    built.set(id::build_info, 0, 1);
    add([is = built.read()] { return is; });
}

telemetry::source_labels collection::labels_of(names& known, std::string_view queue_url, char const* kind)
{
    std::string name(sqs::queue_name_in(queue_url));
    telemetry::source_labels out{{"queue", name}};
    std::lock_guard const held(lock_);
    auto at = std::ranges::find(known, name, &names::value_type::first);
    if (at == known.end()) at = known.insert(at, {name, 0});
    if (++at->second > 1) out.emplace_back(kind, std::to_string(at->second));
    return out;
}

std::shared_ptr<consumer_metrics> collection::consumer(std::string_view queue_url)
{
    auto out = std::make_shared<consumer_metrics>(labels_of(consumers_, queue_url, "consumer"));
    add(out);
    return out;
}

std::shared_ptr<producer_metrics> collection::producer(std::string_view queue_url)
{
    auto out = std::make_shared<producer_metrics>(labels_of(producers_, queue_url, "producer"));
    add(out);
    return out;
}

std::shared_ptr<request_metrics> collection::client()
{
    telemetry::source_labels labels;
    {
        std::lock_guard const held(lock_);
        if (++clients_ > 1) labels.emplace_back("client", std::to_string(clients_));
    }
    auto out = std::make_shared<request_metrics>(std::move(labels));
    add(out);
    return out;
}

void collection::add(std::shared_ptr<source const> what)
{
    std::lock_guard const held(lock_);
    sources_.push_back(std::move(what));
}

void collection::add(std::function<telemetry::reading()> read)
{
    add(std::make_shared<asked>(std::move(read)));
}

void collection::drop()
{
    losses_->add(0, 1);
}

void collection::drop_spans(std::size_t count)
{
    losses_->add(1, count);
}

telemetry::snapshot collection::snapshot() const
{
    std::vector<std::shared_ptr<source const>> sources;
    {
        std::lock_guard const held(lock_);
        sources = sources_;
    }
    telemetry::snapshot out{since_, time_.wall(), {}};
    for (auto const& s : sources)
        s->add_to(out.sources);
    return out;
}

} // namespace quern::metrics
