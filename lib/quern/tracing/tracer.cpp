#include <quern/tracing/tracer.hpp>

#include <algorithm>
#include <utility>

namespace quern::tracing {

using telemetry::trace_context;

tracer::tracer(telemetry::trace_options o, clock& time, std::uint64_t seed)
    : options_(std::move(o)), time_(time), spans_(options_.buffer)
{
    std::random_device system;
    std::seed_seq several{system(), system(), system(), system()};
    if (seed != 0)
        random_.seed(seed);
    else
        random_.seed(several);
}

template <class Id>
void tracer::draw(Id& id)
{
    do {
        for (std::size_t i = 0; i < id.size(); i += 8) {
            auto const bits = random_();
            for (std::size_t j = 0; j < 8; ++j)
                id[i + j] = static_cast<std::uint8_t>(bits >> 8 * j);
        }
    } while (std::ranges::count(id, 0) == static_cast<std::ptrdiff_t>(id.size()));
}

trace_context tracer::begin(trace_context const* parent)
{
    trace_context out;
    {
        std::lock_guard const held(lock_);
        draw(out.span);
        if (!parent) draw(out.trace);
    }
    if (parent) {
        out.trace = parent->trace;
        out.state = parent->state;
    } else {
        auto const since = std::chrono::floor<std::chrono::seconds>(time_.wall().time_since_epoch()).count();
        for (std::size_t i = 0; i < 4; ++i)
            out.trace[i] = static_cast<std::uint8_t>(static_cast<std::uint64_t>(since) >> 8 * (3 - i));
    }
    out.sampled = options_.sampler.takes(out.trace, parent);
    return out;
}

void tracer::end(telemetry::span what)
{
    if (!what.self.sampled) return;
    what.ended = std::max(what.ended, what.began);
    std::function<void()> full;
    {
        std::lock_guard const held(lock_);
        if (spans_.add(std::move(what)) && spans_.size() == options_.batch) full = full_;
    }
    if (full) full();
}

std::vector<telemetry::span> tracer::take(std::size_t most)
{
    std::lock_guard const held(lock_);
    return spans_.take(most);
}

std::size_t tracer::size() const
{
    std::lock_guard const held(lock_);
    return spans_.size();
}

std::size_t tracer::take_dropped()
{
    std::lock_guard const held(lock_);
    return spans_.take_dropped();
}

void tracer::on_full(std::function<void()> call)
{
    std::lock_guard const held(lock_);
    full_ = std::move(call);
}

} // namespace quern::tracing
