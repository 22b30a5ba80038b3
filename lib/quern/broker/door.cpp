#include <quern/broker/door.hpp>

#include <quern/aws/detail/signing/canonical.hpp>
#include <quern/broker/detail/page_text.hpp>
#include <quern/broker/detail/picture.hpp>
#include <quern/core/detail/text/json_writer.hpp>
#include <quern/core/detail/text/prometheus_page.hpp>
#include <quern/core/detail/text/reading.hpp>
#include <quern/net/detail/live_view.hpp>

#include <algorithm>
#include <limits>
#include <optional>

namespace quern::broker {
namespace {

using net::web_answer;
using net::web_request;

constexpr std::size_t largest_body = 2 * 1024 * 1024; ///< a message of 1 MiB, and SQS's own words for a larger one
constexpr std::size_t usual_look = 100, most_looked_at = 1000, most_of_body = 16 * 1024;

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

class parameters {
public:
    explicit parameters(std::string_view query) : all_(aws::parse_query(query)) {}

    std::optional<std::string> find(std::string_view name) const
    {
        auto const at = std::ranges::find(all_, name, [](auto const& one) -> std::string_view { return one.first; });
        if (at == all_.end() || at->second.empty()) return {};
        return at->second;
    }
    std::string text(std::string_view name) const { return find(name).value_or(""); }

private:
    aws::query_parameters all_;
};

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

    web_answer probe(web_request const& r) const
    {
        bool const stops = r.path == "/readyz" && of_.stopping();
        web_answer out;
        out.status = stops ? 503 : 200;
        out.body = stops          ? "it stops\n"
            : r.path == "/livez"  ? "alive\n"
            : r.path == "/readyz" ? "ready\n"
                                  : "started\n";
        return out;
    }

    web_answer metrics()
    {
        web_answer out;
        out.content_type = text::prometheus_type;
        out.body = of_.metrics();
        of_.settle();
        return out;
    }

    /// `token`: what an action has to bring.
    web_answer serve(web_request const& r, std::string_view token)
    {
        static constexpr action actions[] = {
            {"/send", &shown_broker::send}, {"/purge", &shown_broker::purge}, {"/redrive", &shown_broker::redrive}};
        auto const at = std::ranges::find(actions, r.path, &action::path);
        if (at != std::end(actions)) return act(*at, r);
        if (r.method != "GET") return refused(405, "Nothing can be changed here.");
        if (r.path == "/messages" || r.path == "/token") {
            if (of_.stopping()) return refused(503, "The broker stops.");
            if (!options_.admin) return refused(403, "This is for administrators: quern broker --admin.");
            if (r.path == "/messages") return look(r);
            web_answer out;
            out.body = token;
            return out;
        }
        web_answer none;
        none.status = 404;
        return none;
    }

private:
    struct action {
        std::string_view path;
        web_answer (shown_broker::*carry_out)(queue_look const&, parameters const&, web_request const&);
    };

    result<queue_look> find_queue(std::string const& named)
    {
        auto found = of_.queues().find_queue(named, of_.now());
        of_.settle();
        return found;
    }

    web_answer look(web_request const& r)
    {
        parameters const said(r.query);
        auto const q = find_queue(said.text("queue"));
        if (!q) return refused(404, q.error().message);
        auto const most = natural_in(said.find("most").value_or(std::to_string(usual_look)));
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

    /// Whoever comes here has brought the token, which the server below has looked at.
    web_answer act(action const& what, web_request const& r)
    {
        if (r.method != "POST") {
            auto out = refused(405, "An action is a POST.");
            out.allow = options_.admin ? "POST" : "";
            return out;
        }
        if (of_.stopping()) return refused(503, "The broker stops.");
        parameters const said(r.query);
        auto const q = find_queue(said.text("queue"));
        if (!q) return refused(404, q.error().message);
        of_.queues().set_caller(owner_of(q->arn));
        auto out = (this->*what.carry_out)(*q, said, r);
        auto const kept = of_.queues().save();
        of_.settle();
        if (!kept) return refused(500, kept.error().message); // the server finds the same, and ends
        if (out.status == 200 && options_.acted) options_.acted(what.path.substr(1), q->arn);
        return out;
    }

    web_answer send(queue_look const& q, parameters const& said, web_request const& r)
    {
        sqs::send_message_request request(q.url, std::string(r.body));
        request.group_id = said.find("group");
        request.deduplication_id = said.find("deduplication_id");
        if (auto const text = said.find("delay")) {
            auto const delay = natural_in(*text);
            if (!delay) return refused(400, "delay is a whole number of seconds");
            request.delay = std::chrono::seconds(*delay);
        }
        auto const sent = of_.queues().send_message(std::move(request), of_.now());
        return sent ? in_json(200, "message_id", sent->message_id) : refused(400, sent.error().message);
    }

    web_answer purge(queue_look const& q, parameters const&, web_request const&)
    {
        sqs::purge_queue_request request;
        request.queue_url = q.url;
        auto const done = of_.queues().purge_queue(request, of_.now());
        return done ? in_json(200, "purged", q.name) : refused(400, done.error().message);
    }

    web_answer redrive(queue_look const& q, parameters const&, web_request const&)
    {
        auto const begun =
            of_.queues().start_message_move_task(sqs::start_message_move_task_request(q.arn), of_.now());
        return begun ? in_json(200, "task", begun->task_handle) : refused(400, begun.error().message);
    }

    server& of_;
    door_options options_;
    clock& time_;
    tick const began_at_;
};

std::shared_ptr<net::live_view> view_of(server& of, door_options options, clock& time)
{
    net::live_view_options shown;
    shown.web = options.web;
    shown.web.max_body_bytes = options.admin ? largest_body : 0;
    shown.page = page_text;
    auto const all = std::make_shared<shown_broker>(of, std::move(options), time);
    shown.picture = [all] { return all->picture(); };
    shown.probe = [all](web_request const& r) { return all->probe(r); };
    shown.metrics = [all](web_request const&) { return all->metrics(); };
    shown.other = [all](web_request const& r, std::string_view token) { return all->serve(r, token); };
    return std::make_shared<net::live_view>(of.get_executor(), std::move(shown), time);
}

} // namespace

door::door(server& of, door_options options, clock& time) : live_door(view_of(of, std::move(options), time)) {}

} // namespace quern::broker
