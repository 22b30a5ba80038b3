#include <quern/broker/engine.hpp>

#include <quern/broker/detail/engine_state.hpp>

#include <algorithm>

namespace quern::broker {

using namespace detail;

engine::engine(engine_options options) : state_(std::make_unique<engine_state>(std::move(options))) {}
engine::~engine() = default;

engine_options const& engine::options() const
{
    return state_->options;
}

void engine::set_caller(caller who)
{
    state_->asking = std::move(who);
}

fault_plan& engine::faults()
{
    return state_->faults;
}

void engine::set_faults(fault_settings settings)
{
    state_->faults = fault_plan(std::move(settings));
}

void engine::cancel_poll(poll_id id)
{
    state_->polls.erase(id);
}

std::optional<ready_poll> engine::take_ready()
{
    auto& ready = state_->ready;
    if (ready.empty()) return {};
    std::optional<ready_poll> out(std::move(ready.front()));
    ready.pop_front();
    return out;
}

std::optional<instant> engine::next_event() const
{
    return state_->times.next();
}

void engine::advance(instant now)
{
    // Each thing happens at its own moment, however late this is called, but never before what has happened already.
    while (auto* due = state_->times.take_due(now)) {
        auto const at = state_->latest = std::max(state_->latest, due->at());
        switch (due->what()) {
        case timed::kind::message: {
            auto& message = static_cast<stored_message&>(*due);
            message.home->show(message);
            state_->wake(*message.home);
            break;
        }
        case timed::kind::poll:
            state_->finish(static_cast<parked_poll&>(*due), sqs::receive_message_response());
            break;
        case timed::kind::retention: {
            auto& aged = static_cast<queue&>(*due);
            aged.drop_expired(at);
            state_->wake(aged); // what has expired may have blocked its group
            break;
        }
        case timed::kind::notes: static_cast<note_watch&>(*due).of.drop_old_notes(at); break;
        case timed::kind::move_task: state_->step(static_cast<move_task&>(*due), at); break;
        }
        state_->serve(at);
    }
    state_->latest = std::max(state_->latest, now);
}

} // namespace quern::broker
