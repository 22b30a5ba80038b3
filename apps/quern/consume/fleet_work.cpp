#include "consume/fleet_work.hpp"

#include "common/complaint.hpp"
#include "common/rate_text.hpp"
#include "common/service_options.hpp"
#include "common/session.hpp"
#include "consume/consume_work.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/host_name.hpp>
#include <boost/system/system_error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <unistd.h>
#include <utility>

namespace quern::app {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// Name that people know this process by: its host and number.
std::string own_name()
{
    boost::system::error_code ec;
    auto host = asio::ip::host_name(ec).substr(0, 60);
    if (host.empty()) host = "host";
    std::ranges::replace_if(
        host, [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '.'; }, '-');
    return host + '/' + std::to_string(getpid());
}

} // namespace

result<fleet::fleet_item> parse_fleet(std::string const& text)
{
    constexpr std::string_view prefix = "ddb:";
    failure const wrong(errc::invalid_option, '"' + text + "\" is no fleet: ddb:TABLE/NAME");
    if (!text.starts_with(prefix)) return wrong;
    auto const rest = text.substr(prefix.size());
    auto const arn = rest.starts_with("arn:") ? rest.find('/') + 1 : 0; // arn:aws:dynamodb:…:table/NAME
    auto const slash = rest.find('/', arn);
    fleet::fleet_item out;
    if (slash == rest.npos) return wrong;
    out.table = rest.substr(0, slash);
    out.name = rest.substr(slash + 1);
    if (out.name.starts_with(out.prefix)) out.name.erase(0, out.prefix.size());
    if (out.table.empty() || out.name.empty()) return wrong;
    return out;
}

std::string check_fleet(std::string const& text)
{
    auto const out = parse_fleet(text);
    return out ? std::string() : out.error().message;
}

fleet::budget fleet_budget_of(std::string const& rate, std::optional<std::size_t> concurrency)
{
    fleet::budget out;
    if (!rate.empty()) out.rate = rate_from(rate);
    out.concurrency = concurrency;
    return out;
}

result<std::unique_ptr<fleet_work>> fleet_work::to(session& s, std::string const& where, fleet::budget all)
{
    auto item = parse_fleet(where);
    if (!item) return item.error();
    services::dynamodb_options options;
    options.request_timeout = 1s; // the next reading is a second away
    options.retries.max_attempts = 2;
    endpoint_options endpoint{{}, s.options.where.region, s.options.profile};
    auto const settled = settle(options, aws::dynamodb_service, std::move(endpoint), aws::process_environment);
    if (!settled) return settled.error();
    if (!options.credentials && !s.options.credentials) options.credentials = s.sqs.credentials();
    fleet::fleet_limit_options how;
    how.item = std::move(*item);
    how.all = std::move(all);
    how.member = own_name();
    how.log = to_stderr();
    try {
        auto client = std::make_shared<services::dynamodb>(s.io.get_executor(), std::move(options));
        return std::make_unique<fleet_work>(s, std::move(client), std::move(how));
    } catch (boost::system::system_error const& e) {
        return failure(errc::invalid_option, "--fleet-limit " + where + ": " + e.what());
    }
}

fleet_work::fleet_work(session& s, std::shared_ptr<services::dynamodb> client, fleet::fleet_limit_options how)
    : s_(s), all_(how.all), limit_(s.io.get_executor(), std::move(client), std::move(how)),
      ended_(real_clock(), s.io.get_executor())
{}

void fleet_work::limit(consumer_options& of) const
{
    of.limits.rate = fleet::limits_of({}, all_).rate;
}

void fleet_work::begin(consume_work& work)
{
    of_ = &work;
    over_ = false;
    looked_at_ = real_clock().now();
    auto const done = [this](std::exception_ptr bug) {
        if (bug) std::rethrow_exception(bug);
        over_ = true;
        ended_.ring();
    };
    auto changed = [this](fleet::amounts const& slice) { turn(slice); };
    auto asked = [this] { return look(); };
    asio::co_spawn(s_.io, limit_.run(std::move(changed), std::move(asked)), done);
}

asio::awaitable<void> fleet_work::finish()
{
    limit_.end();
    auto const last = real_clock().now() + 2s;
    while (!over_ && real_clock().now() < last)
        co_await ended_.wait(last);
}

/// Messages handled since the last look, and what is being handled.
asio::awaitable<fleet::usage> fleet_work::look()
{
    auto const& consumer = of_->queues().front().of;
    auto const seen = co_await consumer.explain();
    auto const n = consumer.counters();
    auto const settled = n.acked + n.retried + n.released + n.rejected;
    auto const now = real_clock().now();
    auto const seconds = std::chrono::duration<double>(now - looked_at_).count();
    fleet::usage out;
    if (seconds > 0.5) out.rate = static_cast<double>(settled - settled_) / seconds;
    out.concurrency = static_cast<std::int64_t>(seen.running);
    settled_ = settled;
    looked_at_ = now;
    co_return out;
}

void fleet_work::turn(fleet::amounts const& slice)
{
    log_line(log_level::info, fmt::format("fleet limit: this process may use {}", to_string(slice)));
    auto const done = [](std::exception_ptr bug, result<void> const&) { // fails after the drain alone
        if (bug) std::rethrow_exception(bug);
    };
    asio::co_spawn(s_.io, of_->set_slice(fleet::limits_of(slice, all_)), done);
}

} // namespace quern::app
