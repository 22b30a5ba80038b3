#include <quern/metrics/sampler.hpp>

#include <quern/sqs/queue_attributes.hpp>
#include <quern/sqs/queue_reference.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace quern::metrics {

using namespace quern::detail;
namespace asio = boost::asio;
using telemetry::id;
using telemetry::part;

/// The depth of one queue.
class sampler::shown final : public source {
public:
    shown(part of, id which, telemetry::source_labels labels) : which_(which), n_(of, std::move(labels)) {}

    void set(std::optional<sqs::queue_depth> const& now)
    {
        auto const put = [&](std::size_t series, std::size_t count) {
            if (now)
                n_.set(which_, series, static_cast<double>(count));
            else
                n_.take_away(which_, series);
        };
        auto const d = now.value_or(sqs::queue_depth());
        put(0, d.visible);
        put(1, d.in_flight);
        put(2, d.delayed);
    }
    void add_to(std::vector<telemetry::reading>& to) const override { to.push_back(n_.read()); }

private:
    id const which_;
    telemetry::numbers n_;
};

/// Depths of a queue, and of its dead-letter queue once that is known.
struct sampler::depths {
    std::shared_ptr<shown> here, dead;
    std::string arn, dead_url;                               ///< of the dead-letter queue
    std::map<std::string, std::shared_ptr<shown>> dead_ones; ///< all that it ever had, by their ARN
};

sampler::sampler(asio::any_io_executor ex, sqs::api& api, collection& all, sampler_options o)
    : sqs_(api), all_(all), options_(std::move(o)), time_(options_.time ? *options_.time : real_clock()),
      log_(options_.log), ended_(time_, std::move(ex))
{}

void sampler::add(consumer const& c, std::string queue_url, std::shared_ptr<consumer_metrics> to)
{
    auto const depth = std::make_shared<depths>();
    watched_.push_back({&c, std::move(queue_url), std::move(to), depth});
}

void sampler::add(producer const& p, std::shared_ptr<producer_metrics> to)
{
    senders_.push_back({&p, std::move(to)});
}

asio::awaitable<void> sampler::look(watched const& w)
{
    auto const now = co_await w.of->explain();
    w.to->explained(now, time_.wall());
}

/// Its URL; nothing where it may not be known, or there is none any more.
asio::awaitable<std::optional<std::string>> sampler::dead_letter_url(std::string_view arn)
{
    sqs::get_queue_url_request request{std::string(sqs::queue_name_in(arn))};
    auto const rest = arn.substr(0, arn.size() - std::min(arn.size(), request.queue_name.size() + 1));
    request.owner_account_id = std::string(sqs::queue_name_in(rest));
    auto const found = co_await sqs_.get_queue_url(std::move(request));
    std::optional<std::string> out;
    if (found)
        out = found->queue_url;
    else
        log_.write(log_level::warning, "dead-letter queue", describe(found.error()), time_.now());
    co_return out;
}

std::shared_ptr<sampler::shown> sampler::dead_letters_of(watched const& w, std::string const& arn)
{
    auto& out = w.depth->dead_ones[arn];
    if (!out) {
        auto labels = w.to->labels();
        labels.emplace_back("dead_letter_queue", sqs::queue_name_in(arn));
        out = std::make_shared<shown>(part::dead_letters, id::dead_letter_messages, std::move(labels));
        all_.add(out);
    }
    return out;
}

asio::awaitable<void> sampler::ask(watched const& w)
{
    auto& d = *w.depth;
    if (!d.here) {
        d.here = std::make_shared<shown>(part::queue, id::queue_messages, w.to->labels());
        all_.add(d.here);
    }
    sqs::get_queue_attributes_request request(w.url);
    auto const got = co_await sqs_.get_queue_attributes(std::move(request));
    auto const depth = got ? sqs::depth_in(got->attributes) : got.error();
    auto const policy = got ? sqs::redrive_policy_in(got->attributes) : got.error();
    if (!depth || !policy) {
        auto const& why = depth ? policy.error() : depth.error();
        log_.write(log_level::warning, "queue depth", w.url + ": " + describe(why), time_.now());
    }
    std::optional<sqs::queue_depth> here, dead;
    if (depth) here = *depth;
    auto const arn = policy ? policy->dead_letter_arn : std::string();
    d.here->set(here);
    if (!arn.empty() && arn != d.arn) {
        auto const url = co_await dead_letter_url(arn);
        if (url) {
            if (d.dead) d.dead->set({}); // it has another one now
            d.arn = arn;
            d.dead_url = *url;
            d.dead = dead_letters_of(w, arn);
        }
    }
    if (!d.dead) co_return;
    if (!arn.empty() && arn == d.arn) {
        sqs::get_queue_attributes_request of_dead(d.dead_url);
        auto const said = co_await sqs_.get_queue_attributes(std::move(of_dead));
        auto const known = said ? sqs::depth_in(said->attributes) : said.error();
        if (known) dead = *known;
    }
    d.dead->set(dead);
}

asio::awaitable<void> sampler::run()
{
    auto ask_at = time_.now();
    while (!over_) {
        auto const now = time_.now();
        bool const asks = options_.depth_every && now >= ask_at;
        if (asks) ask_at = now + *options_.depth_every;
        for (auto const& w : watched_) {
            if (over_) break;
            co_await look(w);
        }
        for (auto const& s : senders_) {
            if (over_) break;
            auto const seen = co_await s.of->explain();
            s.to->explained(seen);
        }
        for (auto const& w : watched_) // which may take minutes: what is looked at is not to be old by then
            if (asks && !over_) co_await ask(w);
        if (over_) break;
        log_.flush(time_.now());
        auto const next = now + options_.look_every;
        co_await ended_.wait(next);
    }
}

void sampler::end()
{
    over_ = true;
    ended_.ring();
}

} // namespace quern::metrics
