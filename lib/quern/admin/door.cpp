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

class door::state {
public:
    state(asio::any_io_executor ex, door_options options, std::shared_ptr<board const> of, clock& time)
        : options_(std::move(options)), of_(std::move(of)), time_(time)
    {
        net::live_view_options shown;
        shown.web = options_.web;
        shown.page = page_text;
        shown.picture = [this] {
            return to_json(*of_->last(), options_.health, options_.program, time_.now(), time_.wall());
        };
        shown.other = [this](net::web_request const& r) { return serve(r); };
        shown.other_paths = options_.metrics ? "/metrics, /livez, /readyz, /startupz" : "/livez, /readyz, /startupz";
        view = std::make_shared<net::live_view>(std::move(ex), std::move(shown), time_);
    }
    ~state() { view->close(); }

    std::shared_ptr<net::live_view> view;

private:
    net::web_answer serve(net::web_request const& r) const
    {
        auto const now = time_.now();
        auto const shown = of_->last();
        auto const& signs = shown->signs;
        if (r.path == "/livez") return probe(r, signs, liveness(signs, options_.health, now));
        if (r.path == "/readyz") return probe(r, signs, readiness(signs, options_.health, now));
        if (r.path == "/startupz") return probe(r, signs, startup(signs));
        if (r.path == "/metrics" && options_.metrics) return metrics(r.fields.find("accept"));
        net::web_answer none;
        none.status = 404;
        return none;
    }

    net::web_answer metrics(std::string_view accept) const
    {
        auto const open = options_.openmetrics && telemetry::prefers_openmetrics(accept);
        net::web_answer out;
        out.content_type = open ? telemetry::openmetrics_type : telemetry::prometheus_type;
        out.body = open ? options_.openmetrics() : options_.metrics();
        return out;
    }

    net::web_answer probe(net::web_request const& r, vital_signs const& signs, health said) const
    {
        net::web_answer out;
        out.status = said.status;
        out.body = std::move(said.reason) + '\n';
        if (r.query == "verbose") out.body += details(signs, time_.now());
        return out;
    }

    door_options const options_;
    std::shared_ptr<board const> const of_;
    clock& time_;
};

door::door(asio::any_io_executor ex, door_options options, std::shared_ptr<board const> of, clock& time)
    : state_(std::make_unique<state>(std::move(ex), std::move(options), std::move(of), time))
{}

door::~door() = default;

result<void> door::listen()
{
    return state_->view->listen();
}
std::uint16_t door::port() const
{
    return state_->view->web.port();
}
std::string door::url() const
{
    return state_->view->web.url();
}
void door::close()
{
    state_->view->close();
}

} // namespace quern::admin
