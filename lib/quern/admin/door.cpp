#include <quern/admin/door.hpp>

#include <quern/admin/detail/page_text.hpp>
#include <quern/net/detail/live_view.hpp>
#include <quern/telemetry/prometheus.hpp>

#include <utility>

namespace quern::admin {

namespace asio = boost::asio;

std::string_view page()
{
    return page_text;
}

std::string page_policy()
{
    return net::page_policy(page_text);
}

namespace {

class shown_program {
public:
    shown_program(door_options options, std::shared_ptr<board const> of, clock& time)
        : options_(std::move(options)), of_(std::move(of)), time_(time)
    {}

    std::string picture() const
    {
        return to_json(*of_->last(), options_.health, options_.program, time_.now(), time_.wall());
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

std::shared_ptr<net::live_view> view_of(
    asio::any_io_executor ex, door_options options, std::shared_ptr<board const> of, clock& time)
{
    net::live_view_options shown;
    shown.web = options.web;
    shown.page = page_text;
    bool const measures = options.metrics != nullptr;
    auto const all = std::make_shared<shown_program const>(std::move(options), std::move(of), time);
    shown.picture = [all] { return all->picture(); };
    for (auto const* path : {"/livez", "/readyz", "/startupz"})
        shown.routes.push_back({path, [all](auto& r, auto) { return all->probe(r); }});
    if (measures) shown.routes.push_back({"/metrics", [all](auto& r, auto) { return all->metrics(r); }});
    return std::make_shared<net::live_view>(std::move(ex), std::move(shown), time);
}

} // namespace

door::door(asio::any_io_executor ex, door_options options, std::shared_ptr<board const> of, clock& time)
    : live_door(view_of(std::move(ex), std::move(options), std::move(of), time))
{}

} // namespace quern::admin
