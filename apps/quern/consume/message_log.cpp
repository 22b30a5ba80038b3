#include "consume/message_log.hpp"

#include <quern/admin/recorder.hpp>
#include <quern/sqs/queue_reference.hpp>

#include <fmt/core.h>

#include <utility>

namespace quern::app {
namespace {

using std::chrono::milliseconds;

std::string words_for(message_end how, std::chrono::seconds again)
{
    switch (how) {
    case message_end::deleted: return "deleted";
    case message_end::rejected: return "rejected";
    case message_end::put_off: return fmt::format("again in {} s", again.count());
    case message_end::released: return "given back";
    case message_end::lost: return "its lease was lost";
    case message_end::came_again: break;
    }
    return "received again";
}

} // namespace

message_log::message_log(std::string queue_url, log_level level, log_sink to, std::shared_ptr<observer> next)
    : forwarding_observer(std::move(next)), queue_(std::move(queue_url)), level_(level), to_(std::move(to))
{}

void message_log::ended(observed_message const& m, handler_end how, outcome::kind verdict)
{
    if (how != handler_end::called_off) { // else it has not begun
        auto const* const words = admin::words_for(how);
        auto& its = said_[std::string(m.id)];
        its.said = !m.said.empty() ? m.said : words ? words : "handled";
        its.status = m.status;
    }
    forwarding_observer::ended(m, how, verdict);
}

void message_log::settled(observed_message const& m, message_end how, std::chrono::seconds again)
{
    auto its = said_.extract(std::string(m.id));
    auto const last = its ? std::move(its.mapped()) : words{"not handled", 0};
    log_subject about;
    about.queue = queue_;
    about.message_id = m.id;
    about.attempt = m.receive_count;
    about.status = last.status;
    if (how == message_end::put_off) about.delay = again;
    auto const took = std::chrono::duration_cast<milliseconds>(m.handled);
    to_(level_,
        log_text(fmt::format("message {}: try {}, {}, {} ms; {}", m.id, m.receive_count, last.said, took.count(),
                     words_for(how, again)),
            about));
    forwarding_observer::settled(m, how, again);
}

log_sink naming_queues(log_sink to)
{
    return [to = std::move(to)](log_level level, log_text const& line) {
        if (line.about.queue.empty()) return to(level, line);
        auto const named =
            fmt::format("{}: {}", sqs::queue_name_in(line.about.queue), static_cast<std::string_view const&>(line));
        to(level, log_text(named, line.about));
    };
}

} // namespace quern::app
