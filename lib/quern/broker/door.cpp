#include <quern/broker/door.hpp>

#include <quern/aws/detail/signing/canonical.hpp>
#include <quern/broker/detail/picture.hpp>
#include <quern/core/detail/text/json_writer.hpp>
#include <quern/core/detail/text/prometheus_page.hpp>
#include <quern/core/detail/text/reading.hpp>
#include <quern/net/detail/live_view.hpp>

#include <algorithm>
#include <optional>

namespace quern::broker {

using namespace detail;
using namespace quern::detail;
using aws::detail::parse_query, aws::detail::query_parameters, aws::detail::value_of;

extern std::string_view const page_text; // page.html, as the build has put it into the program
namespace {

using net::web_answer;
using net::web_request;

constexpr std::size_t largest_body = 2 * 1024 * 1024; ///< a message of 1 MiB, and SQS's own words for a larger one
constexpr int usual_look = 100;
constexpr std::size_t most_looked_at = 1000, most_of_body = 16 * 1024;

web_answer in_text(int status, std::string_view text)
{
    web_answer out;
    out.status = status;
    out.body = text;
    return out;
}

web_answer in_json(int status, std::string_view name, std::string_view value)
{
    web_answer out;
    out.status = status;
    out.content_type = "application/json";
    text::json_writer to(out.body);
    to.begin_object().member(name, value).end_object();
    out.body += '\n';
    return out;
}

web_answer refused(int status, std::string_view why)
{
    return in_json(status, "error", why);
}

std::optional<int> natural_in(std::string_view text)
{
    auto const out = text::number_in<int>(text);
    return out && *out >= 0 ? out : std::nullopt;
}

/// The caller who would find the queue by its name: of the region and the account in its ARN.
caller owner_of(std::string const& arn)
{
    auto const part = [&](int number) {
        std::size_t from = 0;
        for (int i = 0; i != number; ++i)
            from = arn.find(':', from) + 1;
        return arn.substr(from, arn.find(':', from) - from);
    };
    return {part(3), part(4), {}};
}

} // namespace

std::string_view page()
{
    return page_text;
}

namespace {

class shown_broker {
public:
    shown_broker(server& of, door_options options, clock& time)
        : of_(of), options_(std::move(options)), time_(time), began_at_(time.now())
    {}

    std::string picture() const { return picture_of(of_, options_.admin, began_at_, time_); }

    web_answer readiness() const { return of_.stopping() ? in_text(503, "it stops\n") : in_text(200, "ready\n"); }

    web_answer metrics()
    {
        web_answer out;
        out.content_type = text::prometheus_type;
        out.body = of_.metrics();
        of_.settle();
        return out;
    }

    web_answer token(std::string_view text) const
    {
        auto const why_not = refusal();
        return why_not ? *why_not : in_text(200, text);
    }

    web_answer look(web_request const& r)
    {
        if (auto const why_not = refusal()) return *why_not;
        auto const said = parse_query(r.query);
        auto const q = find_queue(value_of(said, "queue"));
        if (!q) return refused(404, q.error().message);
        auto const text = value_of(said, "most");
        auto const most = text.empty() ? std::optional(usual_look) : natural_in(text);
        if (!most) return refused(400, "most is a whole number");
        auto const bounded = std::min<std::size_t>(static_cast<std::size_t>(*most), most_looked_at);
        auto const found = of_.queues().look_at_messages(q->arn, bounded, of_.now());
        of_.settle();
        if (!found) return refused(404, found.error().message);
        web_answer out;
        out.content_type = "application/json";
        write_messages(*found, most_of_body, out.body);
        return out;
    }

    /// Part of the door that carries an action out on a queue.
    using action = web_answer (shown_broker::*)(queue_look const&, query_parameters const&, web_request const&);

    /// Whoever comes here has brought the token, which the server below has looked at.
    web_answer act(std::string_view name, action carry_out, web_request const& r)
    {
        if (of_.stopping()) return refused(503, "The broker stops.");
        auto const said = parse_query(r.query);
        auto const q = find_queue(value_of(said, "queue"));
        if (!q) return refused(404, q.error().message);
        of_.queues().set_caller(owner_of(q->arn));
        auto out = (this->*carry_out)(*q, said, r);
        auto const kept = of_.queues().save();
        of_.settle();
        if (!kept) return refused(500, kept.error().message); // the server finds the same, and ends
        if (out.status == 200 && options_.acted) options_.acted(name, q->arn);
        return out;
    }

    web_answer send(queue_look const& q, query_parameters const& said, web_request const& r)
    {
        sqs::send_message_request request(q.url, std::string(r.body));
        if (auto group = value_of(said, "group"); !group.empty()) request.group_id = std::move(group);
        if (auto id = value_of(said, "deduplication_id"); !id.empty()) request.deduplication_id = std::move(id);
        if (auto const text = value_of(said, "delay"); !text.empty()) {
            auto const delay = natural_in(text);
            if (!delay) return refused(400, "delay is a whole number of seconds");
            request.delay = std::chrono::seconds(*delay);
        }
        auto const sent = of_.queues().send_message(std::move(request), of_.now());
        return sent ? in_json(200, "message_id", sent->message_id) : refused(400, sent.error().message);
    }

    web_answer purge(queue_look const& q, query_parameters const&, web_request const&)
    {
        sqs::purge_queue_request request;
        request.queue_url = q.url;
        auto const done = of_.queues().purge_queue(request, of_.now());
        return done ? in_json(200, "purged", q.name) : refused(400, done.error().message);
    }

    web_answer redrive(queue_look const& q, query_parameters const&, web_request const&)
    {
        auto const begun =
            of_.queues().start_message_move_task(sqs::start_message_move_task_request(q.arn), of_.now());
        return begun ? in_json(200, "task", begun->task_handle) : refused(400, begun.error().message);
    }

private:
    std::optional<web_answer> refusal() const
    {
        if (of_.stopping()) return refused(503, "The broker stops.");
        if (!options_.admin) return refused(403, "This is for administrators: quern broker --admin.");
        return {};
    }

    result<queue_look> find_queue(std::string const& named)
    {
        auto found = of_.queues().find_queue(named, of_.now());
        of_.settle();
        return found;
    }

    server& of_;
    door_options options_;
    clock& time_;
    tick const began_at_;
};

std::shared_ptr<net::detail::live_view> view_of(server& of, door_options options, clock& time)
{
    net::detail::live_view_options shown;
    shown.web = options.web;
    shown.web.max_body_bytes = options.admin ? largest_body : 0;
    shown.page = page_text;
    auto const all = std::make_shared<shown_broker>(of, std::move(options), time);
    shown.picture = [all] { return all->picture(); };
    shown.routes = {
        {"/livez", [](auto&, auto) { return in_text(200, "alive\n"); }},
        {"/readyz", [all](auto&, auto) { return all->readiness(); }},
        {"/startupz", [](auto&, auto) { return in_text(200, "started\n"); }},
        {"/metrics", [all](auto&, auto) { return all->metrics(); }},
        {"/messages", [all](auto& r, auto) { return all->look(r); }},
        {"/token", [all](auto&, auto token) { return all->token(token); }},
        {"/send", [all](auto& r, auto) { return all->act("send", &shown_broker::send, r); }, true},
        {"/purge", [all](auto& r, auto) { return all->act("purge", &shown_broker::purge, r); }, true},
        {"/redrive", [all](auto& r, auto) { return all->act("redrive", &shown_broker::redrive, r); }, true},
    };
    return std::make_shared<net::detail::live_view>(of.get_executor(), std::move(shown), time);
}

} // namespace

door::door(server& of, door_options options, clock& time) : live_door(view_of(of, std::move(options), time)) {}

} // namespace quern::broker
