#include <quern/broker/detail/picture.hpp>

#include <quern/core/detail/text/date.hpp>
#include <quern/core/detail/text/json_writer.hpp>
#include <quern/core/detail/text/utf8.hpp>

#include <algorithm>

namespace quern::broker::detail {

using namespace quern::detail;

namespace {

using text::json_writer;

template <class Duration>
std::int64_t milliseconds(Duration d)
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
}

void write(json_writer& to, char const* probe, bool good, char const* reason)
{
    to.key(probe).begin_object().member("status", good ? 200 : 503).member("reason", reason).end_object();
}

void write_traffic(json_writer& to, server_counters const& c)
{
    std::uint64_t requests = 0;
    for (auto const& [name, n] : c.requests)
        requests += n;
    std::pair<char const*, std::uint64_t> const all[] = {{"requests", requests}, {"errors", c.errors},
        {"faults", c.faults}, {"connections", c.connections}, {"open_connections", c.open_connections},
        {"cut_connections", c.cut_connections}, {"long_polls", c.parked_polls}, {"request_bytes", c.request_bytes},
        {"answer_bytes", c.answer_bytes}};
    to.key("traffic").begin_object();
    for (auto const& [name, n] : all)
        to.member(name, n);
    to.end_object();
}

void write_queue(json_writer& to, queue_look const& q, instant now)
{
    to.begin_object().member("name", q.name).member("arn", q.arn);
    to.member("fifo", q.fifo).member("visible", q.visible).member("in_flight", q.in_flight);
    to.member("delayed", q.delayed);
    if (q.oldest_sent_at)
        to.member("oldest_age_ms", std::max<std::int64_t>(milliseconds(now - *q.oldest_sent_at), 0));
    if (!q.dead_letter_arn.empty()) {
        to.member("dead_letter_arn", q.dead_letter_arn);
        to.member("max_receive_count", q.max_receive_count);
    }
    to.key("counts").begin_object().member("sent", q.counts.sent);
    to.member("received", q.counts.received).member("deleted", q.counts.deleted);
    to.member("moved", q.counts.moved).end_object().end_object();
}

} // namespace

std::string picture_of(server& of, bool admin, tick began_at, clock& time)
{
    std::string out;
    json_writer to(out);
    auto const now = of.now();
    bool const serves = !of.stopping();
    to.begin_object().member("program", "quern broker").member("at", text::rfc3339(time.wall()));
    to.member("up_ms", milliseconds(time.now() - began_at)).member("url", std::string_view(of.url()));
    to.member("admin", admin).key("health").begin_object();
    write(to, "live", true, "alive");
    write(to, "ready", serves, serves ? "ready" : "it stops");
    write(to, "startup", true, "started");
    to.end_object();
    write_traffic(to, of.counters());
    of.queues().set_caller({});
    to.key("queues").begin_array();
    for (auto const& q : of.queues().look_at_queues(now))
        write_queue(to, q, now);
    to.end_array().end_object();
    of.settle();
    return out;
}

void write_messages(std::vector<message_look> const& all, std::size_t most_of_body, std::string& to)
{
    json_writer out(to);
    out.begin_object().key("messages").begin_array();
    for (auto const& m : all) {
        out.begin_object().member("id", m.id).member("body", text::beginning(m.body, most_of_body));
        if (m.body.size() > most_of_body) out.member("bytes", m.body.size());
        out.member("state", m.state).member("receive_count", m.receive_count);
        out.member("sent_at_ms", milliseconds(m.sent_at.time_since_epoch()));
        if (!m.group_id.empty()) out.member("group", m.group_id);
        out.end_object();
    }
    out.end_array().end_object();
}

} // namespace quern::broker::detail
