#include <quern/net/detail/web_hook_host.hpp>

#include <quern/core/detail/random_part.hpp>

#include <algorithm>

namespace quern::net {

namespace asio = boost::asio;

namespace {

web_hook_error not_open(failure why, obstacle met, web_hook_fault usually)
{
    auto fault = usually;
    if (why.code == make_error_code(errc::stopped))
        fault = web_hook_fault::cancelled;
    else if (met == obstacle::proxy)
        fault = web_hook_fault::proxy_refused;
    else if (met == obstacle::their_certificate)
        fault = web_hook_fault::their_certificate;
    else if (met == obstacle::own_certificate)
        fault = web_hook_fault::own_certificate;
    else if (why.code == make_error_code(errc::tls_failed))
        fault = web_hook_fault::tls_failed;
    return {fault, std::move(why)};
}

} // namespace

tick retirement(tick opened_at, std::chrono::milliseconds max_age, double random_part)
{
    std::chrono::duration<double, std::milli> const youth = max_age * (1 - random_part / 5);
    return opened_at + std::chrono::duration_cast<tick::duration>(youth);
}

web_hook_link::web_hook_link(
    asio::any_io_executor ex, std::shared_ptr<tls_client> how, web_hook_options const& options, tick opened_at)
    : tls(std::move(how)), wire(std::move(ex), tls.get(), options.max_header_bytes, options.max_answer_bytes),
      retire_at(retirement(opened_at, options.max_age, random_part()))
{}

/// Whether it may rest, or go on after a rest: young enough, not idle for too long, and with today's certificates.
bool web_hook_host::is_fit(web_hook_link const& link, tick now) const
{
    bool const is_of_today = !link.tls || (link.tls == tls_ && tls_is_of_ == files_.current());
    bool const is_rested = now - link.wire.idle_since < options_.idle_timeout;
    return link.wire.is_reusable() && is_of_today && is_rested && now < link.retire_at;
}

web_hook_host::place::place(web_hook_host& host, tick now) : host_(host), at_(host.take(now)) {}

web_hook_host::web_hook_host(
    asio::any_io_executor ex, route where, std::string local, web_hook_options const& options, tls_files& files)
    : way(std::move(where)), unix_socket(std::move(local)), executor_(std::move(ex)), options_(options), files_(files)
{
    if (unix_socket.empty()) names_ = std::make_shared<resolver>(executor_, way.first_hop());
}

asio::awaitable<std::optional<web_hook_error>> web_hook_host::vacancy(tick deadline)
{
    std::optional<web_hook_error> out;
    if (busy_.size() + granted_ < options_.connections) co_return out;
    waiter in_line(executor_, deadline, waiting_);
    auto const [ec] = co_await in_line.turn();
    if (in_line.is_called()) {
        --granted_;
    } else if (ec) {
        failure const why(errc::stopped, "cancelled while waiting for a connection");
        out.emplace(web_hook_fault::cancelled, why);
    } else {
        failure const why(errc::timed_out, "no connection to " + way.peer.authority() + " came free", true);
        out.emplace(web_hook_fault::busy, why);
    }
    co_return out;
}

result<web_hook_link_ptr> web_hook_host::unopened(tick now)
{
    if (way.peer.tls) {
        files_.refresh();
        if (tls_is_of_ != files_.current()) {
            auto made = tls_client::make(*files_.current());
            if (!made) return made.error();
            tls_ = std::move(*made);
            tls_is_of_ = files_.current();
        }
    }
    return std::make_shared<web_hook_link>(executor_, tls_, options_, now);
}

asio::awaitable<std::optional<web_hook_error>> web_hook_host::open(web_hook_link& link, tick deadline)
{
    std::optional<web_hook_error> out;
    auto& wire = link.wire;
    result<void> opened;
    if (names_) {
        auto const where = co_await names_->addresses(deadline);
        if (!where) {
            out = not_open(where.error(), obstacle::none, web_hook_fault::not_resolved);
            co_return out;
        }
        if (closed_) {
            failure const why(errc::stopped, "the client was closed during the look-up");
            out.emplace(web_hook_fault::cancelled, why);
            co_return out;
        }
        opened = co_await wire.open(way, *where);
        if (opened) {
            names_->prefer(wire.address());
            wire.probe_silence();
        }
    } else {
        opened = co_await wire.open(way, unix_socket);
    }
    if (!opened) out = not_open(opened.error(), wire.met(), web_hook_fault::not_connected);
    co_return out;
}

web_hook_host::links::iterator web_hook_host::take(tick now)
{
    while (!idle_.empty()) {
        auto const first = idle_.begin();
        auto& link = **first;
        if (is_fit(link, now) && link.wire.is_quiet()) {
            busy_.splice(busy_.end(), idle_, first);
            return first;
        }
        idle_.erase(first);
    }
    return busy_.emplace(busy_.end());
}

void web_hook_host::give_back(links::iterator at)
{
    auto const now = std::chrono::steady_clock::now();
    if (*at) {
        auto& link = **at;
        link.wire.deadline = tick::max();
        link.wire.idle_since = now;
        if (is_fit(link, now) && !closed_) {
            idle_.splice(idle_.begin(), busy_, at);
            at = busy_.end();
        } else {
            link.wire.abort(errc::stopped); // a write that nobody waits for would keep it alive
        }
    }
    if (at != busy_.end()) busy_.erase(at);
    while (!idle_.empty() && !is_fit(*idle_.back(), now))
        idle_.pop_back();
    if (!waiting_.empty()) {
        auto& next = *waiting_.front();
        waiting_.pop_front();
        ++granted_;
        next.call();
    }
}

void web_hook_host::distrust(tick heard_before)
{
    idle_.remove_if([&](web_hook_link_ptr const& link) { return link->wire.idle_since < heard_before; });
}

tick web_hook_host::enforce(tick now)
{
    auto next = tick::max();
    for (auto const& link : busy_) {
        if (!link) continue;
        if (link->wire.deadline <= now)
            link->wire.abort(errc::timed_out);
        else
            next = std::min(next, link->wire.deadline);
    }
    return next;
}

void web_hook_host::close()
{
    closed_ = true;
    if (names_) names_->close();
    for (auto const& link : busy_) {
        if (link) link->wire.abort(errc::stopped);
    }
    idle_.clear();
    for (auto* one : waiting_)
        one->send_away();
}

} // namespace quern::net
