#include <quern/admin/door.hpp>

#include <quern/core/detail/text/json_writer.hpp>
#include <quern/net/detail/live_view.hpp>
#include <quern/telemetry/prometheus.hpp>

#include <utility>

namespace quern::admin {

using namespace quern::detail;

extern std::string_view const page_text; // page.html, as the build has put it into the program

namespace asio = boost::asio;

std::string_view page()
{
    return page_text;
}

std::string page_policy()
{
    return net::detail::page_policy(page_text);
}

namespace {

class shown_program {
public:
    shown_program(door_options options, std::shared_ptr<board const> of, clock& time)
        : options_(std::move(options)), of_(std::move(of)), time_(time)
    {}

    std::string picture() const
    {
        wanted_processes wanted;
        if (options_.wanted) wanted = options_.wanted();
        return to_json(*of_->last(), options_.health, options_.program, time_.now(), time_.wall(),
            options_.wanted ? &wanted : nullptr, options_.probe != nullptr);
    }

    /// For KEDA's metrics-api: 503 while it is not known, so that the number of processes stays as it is.
    net::web_answer wanted() const
    {
        auto const said = options_.wanted();
        net::web_answer out;
        out.content_type = "application/json";
        out.status = said.replicas ? 200 : 503;
        text::json_writer to(out.body);
        to.begin_object();
        if (said.replicas) to.member("wanted_replicas", static_cast<std::uint64_t>(*said.replicas));
        to.member("text", said.text).end_object();
        return out;
    }

    net::web_answer probe(net::web_request const& r) const
    {
        auto const shown = of_->last();
        auto const& signs = shown->signs;
        auto said = r.path == "/livez" ? liveness(signs, options_.health, time_.now())
            : r.path == "/readyz"      ? readiness(signs, options_.health, time_.now())
                                       : startup(signs);
        net::web_answer out;
        out.status = said.status;
        out.body = std::move(said.reason) + '\n';
        if (r.query == "verbose") out.body += details(signs, time_.now());
        return out;
    }

    net::web_answer probe_now() const
    {
        options_.probe();
        net::web_answer out;
        out.body = "probed\n";
        return out;
    }

    net::web_answer metrics(net::web_request const& r) const
    {
        auto const open = options_.openmetrics && telemetry::prefers_openmetrics(r.fields.find("accept"));
        net::web_answer out;
        out.content_type = open ? telemetry::openmetrics_type : telemetry::prometheus_type;
        out.body = open ? options_.openmetrics() : options_.metrics();
        return out;
    }

private:
    door_options const options_;
    std::shared_ptr<board const> const of_;
    clock& time_;
};

std::shared_ptr<net::detail::live_view> view_of(
    asio::any_io_executor ex, door_options options, std::shared_ptr<board const> of, clock& time)
{
    net::detail::live_view_options shown;
    shown.web = options.web;
    shown.page = page_text;
    bool const measures = options.metrics != nullptr, advises = options.wanted != nullptr,
               acts = options.probe != nullptr;
    auto const all = std::make_shared<shown_program const>(std::move(options), std::move(of), time);
    shown.picture = [all] { return all->picture(); };
    for (auto const* path : {"/livez", "/readyz", "/startupz"})
        shown.routes.push_back({path, [all](auto& r, auto) { return all->probe(r); }});
    if (measures) shown.routes.push_back({"/metrics", [all](auto& r, auto) { return all->metrics(r); }});
    if (acts) {
        shown.web.max_body_bytes = 1; // an action has none
        shown.routes.push_back({"/token", [](auto&, auto token) {
                                    net::web_answer out;
                                    out.body = std::string(token);
                                    return out;
                                }});
        shown.routes.push_back({"/probe", [all](auto&, auto) { return all->probe_now(); }, true});
    }
    if (advises) shown.routes.push_back({"/wanted", [all](auto&, auto) { return all->wanted(); }});
    return std::make_shared<net::detail::live_view>(std::move(ex), std::move(shown), time);
}

} // namespace

door::door(asio::any_io_executor ex, door_options options, std::shared_ptr<board const> of, clock& time)
    : live_door(view_of(std::move(ex), std::move(options), std::move(of), time))
{}

} // namespace quern::admin
