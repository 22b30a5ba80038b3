#include <quern/broker/detail/engine_state.hpp>

namespace quern::broker {

using namespace detail;

namespace {

std::string_view name_of(message_state state)
{
    switch (state) {
    case message_state::delayed: return "delayed";
    case message_state::visible: return "visible";
    case message_state::in_flight: return "in flight";
    }
    return {};
}

queue_look look_at(queue const& q, std::string url)
{
    queue_look out;
    out.name = q.name;
    out.arn = q.arn;
    out.url = std::move(url);
    out.fifo = q.fifo();
    out.visible = q.visible();
    out.delayed = q.delayed();
    out.in_flight = q.in_flight();
    out.oldest_sent_at = q.oldest();
    out.counts = q.counts;
    if (auto const& policy = q.settings().redrive) {
        out.dead_letter_arn = policy->target_arn;
        out.max_receive_count = policy->max_receive_count;
    }
    return out;
}

constexpr std::size_t most_bytes = 8 * 1024 * 1024; ///< of bodies in one look, which are copies

} // namespace

std::vector<queue_look> engine::look_at_queues(instant now)
{
    advance(now);
    std::vector<queue_look> out;
    for (auto const& [arn, q] : state_->queues)
        out.push_back(look_at(*q, state_->url_of(*q)));
    return out;
}

result<queue_look> engine::find_queue(std::string_view named, instant now)
{
    advance(now);
    auto const found = state_->find(named);
    if (!found) return found.error();
    return look_at(**found, state_->url_of(**found));
}

result<std::vector<message_look>> engine::look_at_messages(std::string_view named, std::size_t most, instant now)
{
    advance(now);
    auto const found = state_->find(named);
    if (!found) return found.error();
    std::vector<message_look> out;
    std::size_t bytes = 0;
    (*found)->each([&](stored_message const& m) {
        bytes += m.body.size();
        if (out.size() == most || bytes > most_bytes) return false;
        auto& look = out.emplace_back();
        look.id.resize(hex16::uuid_size);
        m.id.write_uuid(look.id.data());
        look.body = m.body;
        look.group_id = m.rest().group_id;
        look.state = name_of(m.state);
        look.receive_count = m.receive_count;
        look.sent_at = m.sent_at;
        return true;
    });
    return out;
}

} // namespace quern::broker
