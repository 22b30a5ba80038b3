#include <quern/net/detail/host_pool.hpp>

#include <quern/core/detail/and_then.hpp>
#include <quern/core/detail/random_part.hpp>

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>

namespace quern::net::detail {

using namespace quern::detail;
namespace asio = boost::asio;

namespace {

tick now()
{
    return std::chrono::steady_clock::now();
}

web_hook_error stopped(char const* how)
{
    return {web_hook_fault::cancelled, failure(errc::stopped, how)};
}

/// Why there is no connection.
web_hook_error not_open(failure why, obstacle met, web_hook_fault usually)
{
    auto fault = usually;
    if (why.code == errc::stopped)
        fault = web_hook_fault::cancelled;
    else if (met == obstacle::proxy)
        fault = web_hook_fault::proxy_refused;
    else if (met == obstacle::their_certificate)
        fault = web_hook_fault::their_certificate;
    else if (met == obstacle::own_certificate)
        fault = web_hook_fault::own_certificate;
    else if (why.code == errc::tls_failed)
        fault = web_hook_fault::tls_failed;
    return {fault, std::move(why)};
}

/// Why an exchange failed.
web_hook_error broken(failure why, connection const& link, bool is_fresh, conversation& talk)
{
    auto fault = web_hook_fault::cut_off;
    if (why.code == errc::timed_out)
        fault = web_hook_fault::timed_out;
    else if (why.code == errc::stopped)
        fault = web_hook_fault::cancelled;
    else if (why.code == errc::reply_too_large)
        fault = web_hook_fault::too_large;
    else if (why.code == errc::bad_reply)
        fault = web_hook_fault::bad_answer;
    else if (link.met() == obstacle::own_certificate)
        fault = web_hook_fault::own_certificate;
    else if (link.unanswered())
        fault = is_fresh ? web_hook_fault::closed : web_hook_fault::stale;

    web_hook_error out(fault, std::move(why));
    if (!talk.has_headers) return out;
    out.status = talk.answer.status;
    out.fields = std::move(talk.answer.fields);
    return out;
}

} // namespace

std::optional<failure> pool_rules::validate() const
{
    auto const wrong = [](char const* what) { return failure(errc::invalid_option, what); };
    if (connect_timeout.count() <= 0) return wrong("connect_timeout must be longer than zero");
    if (connect_timeout > longest_wait) return wrong("connect_timeout must not exceed a day");
    if (idle_timeout.count() < 0) return wrong("idle_timeout must not be negative");
    if (idle_timeout > longest_wait) return wrong("idle_timeout must not exceed a day");
    if (max_header_bytes < 1024) return wrong("max_header_bytes must be at least 1024");
    if (max_header_bytes > 1024 * 1024) return wrong("max_header_bytes must not exceed 1 MiB");
    return {};
}

tick retirement(tick opened_at, std::chrono::milliseconds max_age, double random_part)
{
    std::chrono::duration<double, std::milli> const youth = max_age * (1 - random_part / 5);
    return opened_at + std::chrono::duration_cast<tick::duration>(youth);
}

host_pool::host_pool(asio::any_io_executor ex, route where, std::string unix_socket, pool_rules rules, tls_source tls,
    std::shared_ptr<pool_counters> shared)
    : executor(std::move(ex)), way(std::move(where)), counters(std::move(shared)), rules_(std::move(rules)),
      unix_socket_(std::move(unix_socket)), tls_(std::move(tls)), watchdog_(executor)
{
    if (unix_socket_.empty()) names_ = std::make_shared<resolver>(executor, way.first_hop());
    for (std::size_t i = 0; i < lanes_.size(); ++i)
        lanes_[i].limit = rules_.limits[i];
}

asio::awaitable<web_hook_result> host_pool::exchange([[maybe_unused]] std::shared_ptr<host_pool> self, request ask)
{
    try {
        auto& lane = lanes_[ask.via == net::lane::data ? 0 : 1];
        auto const timeout = std::clamp<std::chrono::milliseconds>(ask.timeout, {}, longest_wait);
        auto deadline = now() + timeout;
        if (!closed_ && lane.busy.size() + lane.granted >= lane.limit) {
            auto const full = co_await vacancy(lane, deadline);
            if (full) co_return *full;
        }
        if (closed_) co_return stopped("the client is closed");

        place held(*this, lane);
        if (ask.write) ask.text = ask.write();
        bool const is_passed_on = way.via && !way.peer.tls;
        if (is_passed_on) address_to_proxy(ask.text, *way.via, way.peer);
        if (ask.long_poll) deadline = now() + timeout;
        ++counters->requests;
        auto talk = std::make_shared<conversation>(std::move(ask.text), ask.is_bare);
        trouble lost; // once written, it may have been carried out, whatever follows
        for (;;) {
            bool const is_fresh = !*held.at;
            if (is_fresh) {
                auto failed = co_await connected(*held.at, deadline);
                if (failed && lost) lost->why = quern::detail::and_then(lost->why, failed->why);
                if (failed) co_return lost ? *lost : *failed;
                if (ask.long_poll) deadline = now() + timeout;
            }
            auto const link = *held.at;
            watch(*link, deadline);
            auto const began = now();
            auto const ended = co_await link->converse(link, talk);
            link->deadline = tick::max();
            bool const is_proxys = is_passed_on && talk->answer.status == 407; // that is never the server's
            if (ended && is_proxys)
                co_return web_hook_error(web_hook_fault::proxy_refused, refused_by(*way.via, 407));
            if (ended) co_return std::move(talk->answer);

            auto why = broken(ended.error(), *link, is_fresh, *talk);
            learn(why.fault, *link, is_fresh, began);
            if (why.fault != web_hook_fault::stale || !ask.repeatable || closed_) co_return why;
            // The server had closed the kept-alive connection (RFC 9112, 9.3.1): once more, on a fresh one.
            ++counters->replays;
            lost = std::move(why);
            held.at->reset();
            talk = std::make_shared<conversation>(talk->text, ask.is_bare);
        }
    } catch (boost::system::system_error const& e) {
        // A cancellation that met no operation under way is thrown by the next co_await.
        if (e.code() != asio::error::operation_aborted) throw;
    }
    co_return stopped("cancelled");
}

/// The wait for a place in a lane that is full.
asio::awaitable<host_pool::trouble> host_pool::vacancy(lane_state& lane, tick deadline)
{
    waiter in_line(executor, deadline, lane.waiting);
    auto const [ec] = co_await in_line.turn();
    trouble out;
    if (in_line.is_called())
        --lane.granted;
    else if (ec)
        out = stopped("cancelled while waiting for a connection");
    else
        out.emplace(web_hook_fault::busy,
            failure(errc::connect_failed, "no connection to " + way.peer.authority() + " came free in time", true));
    co_return out;
}

asio::awaitable<host_pool::trouble> host_pool::connected(link_ptr& link, tick deadline)
{
    deadline = std::min(deadline, now() + rules_.connect_timeout);
    result<tcp_addresses> where = tcp_addresses();
    if (names_) where = co_await names_->addresses(deadline);
    if (!where) co_return not_open(where.error(), obstacle::none, web_hook_fault::not_resolved);
    if (closed_) co_return stopped("the client was closed during the look-up");
    auto how = tls_.newest();
    if (!how) co_return web_hook_error(web_hook_fault::own_certificate, how.error());
    link = std::make_shared<connection>(executor, std::move(*how), rules_.max_header_bytes, rules_.max_reply_bytes);
    if (rules_.max_age) link->retire_at = retirement(now(), *rules_.max_age, random_part());
    ++counters->connects;
    watch(*link, deadline);
    co_return co_await opened(*link, *where);
}

asio::awaitable<host_pool::trouble> host_pool::opened(connection& link, tcp_addresses const& where)
{
    result<void> end;
    if (names_)
        end = co_await link.open(way, where);
    else
        end = co_await link.open(way, unix_socket_);
    trouble out;
    if (!end) out = not_open(end.error(), link.met(), web_hook_fault::not_connected);
    if (!names_) co_return out;
    link.note_address();
    if (end) {
        names_->prefer(link.reached);
        link.probe_silence();
        if (link.is_resumed()) ++counters->resumptions;
    } else if (end.error().code != errc::stopped) {
        // After a reset nobody knows the address any more. Most likely it was the first; or none was reached.
        names_->demote(link.reached.port() != 0 ? link.reached : where.front());
    }
    co_return out;
}

/// Whether it may rest, or go on after a rest: young enough, not idle for too long, and with today's certificates.
bool host_pool::is_fit(connection const& link, tick time) const
{
    return link.is_reusable() && time - link.idle_since < rules_.idle_timeout && time < link.retire_at &&
        tls_.is_newest(link.tls());
}

host_pool::links::iterator host_pool::take(lane_state& lane)
{
    auto const time = now();
    while (!lane.idle.empty()) {
        auto const first = lane.idle.begin();
        auto& link = **first;
        if (is_fit(link, time) && (time - link.idle_since < rules_.rested || link.is_quiet())) {
            lane.busy.splice(lane.busy.end(), lane.idle, first);
            return first;
        }
        lane.idle.erase(first);
    }
    return lane.busy.emplace(lane.busy.end());
}

void host_pool::give_back(lane_state& lane, links::iterator at)
{
    auto const time = now();
    if (*at) {
        auto& link = **at;
        link.deadline = tick::max();
        link.idle_since = time;
        if (is_fit(link, time) && !closed_) {
            lane.idle.splice(lane.idle.begin(), lane.busy, at);
            at = lane.busy.end();
        } else {
            link.abort(errc::stopped); // a write that nobody waits for would keep it alive
        }
    }
    if (at != lane.busy.end()) lane.busy.erase(at);
    while (!lane.idle.empty() && !is_fit(*lane.idle.back(), time))
        lane.idle.pop_back();
    if (!lane.waiting.empty()) {
        auto& next = *lane.waiting.front();
        lane.waiting.pop_front();
        ++lane.granted;
        next.call();
    }
    if (lanes_[0].busy.empty() && lanes_[1].busy.empty()) watchdog_.rest();
}

/// From a connection that died, or went silent, before an answer.
void host_pool::learn(web_hook_fault fault, connection const& link, bool is_fresh, tick began)
{
    using enum web_hook_fault;
    if (fault != stale && fault != closed && fault != timed_out) return;
    if (!is_fresh) distrust(began);
    if (is_fresh && names_) names_->demote(link.reached);
}

/// A NAT or a load balancer that fails over forgets all connections, and no reset says so: where one was found dead,
/// those unheard of since before are given up as well. Else each would cost a request its whole timeout, a lease
/// extension its lease.
void host_pool::distrust(tick heard_before)
{
    for (auto& lane : lanes_)
        lane.idle.remove_if([&](link_ptr const& link) { return link->idle_since < heard_before; });
}

void host_pool::watch(connection& link, tick deadline)
{
    link.deadline = deadline;
    watchdog_.watch(*this, deadline);
}

void host_pool::enforce()
{
    auto const time = now();
    auto next = tick::max();
    for (auto& lane : lanes_) {
        for (auto& link : lane.busy) {
            if (!link) continue;
            if (link->deadline <= time) {
                link->note_address();
                link->abort(errc::timed_out);
            } else {
                next = std::min(next, link->deadline);
            }
        }
    }
    if (next != tick::max()) watchdog_.watch(*this, next);
}

void host_pool::close()
{
    closed_ = true;
    watchdog_.rest();
    if (names_) names_->close();
    for (auto& lane : lanes_) {
        for (auto& link : lane.busy) {
            if (link) link->abort(errc::stopped);
        }
        lane.idle.clear();
        for (auto* one : lane.waiting)
            one->send_away();
    }
}

bool host_pool::is_busy() const
{
    return std::ranges::any_of(
        lanes_, [](auto const& l) { return !l.busy.empty() || !l.waiting.empty() || l.granted != 0; });
}

std::size_t host_pool::connections() const
{
    std::size_t out = 0;
    for (auto const& lane : lanes_)
        out += lane.busy.size() + lane.idle.size();
    return out;
}

} // namespace quern::net::detail
