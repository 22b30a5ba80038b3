#include <quern/net/client.hpp>

#include <quern/core/detail/and_then.hpp>
#include <quern/net/detail/connection.hpp>
#include <quern/net/detail/resolver.hpp>
#include <quern/net/detail/waiter.hpp>
#include <quern/net/detail/watchdog.hpp>

#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <list>
#include <optional>

namespace quern::net {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

/// Saturated connections are reused within milliseconds; only a rested one is worth a system call to look at.
constexpr std::chrono::milliseconds rested{500};

tick now()
{
    return std::chrono::steady_clock::now();
}

/// A connection that keeps in mind whom it has reached: a closed socket does not.
struct pooled : connection {
    using connection::connection;

    void note_address()
    {
        if (reached.port() == 0) reached = address();
    }

    tcp::endpoint reached; ///< port 0: nobody
};

route route_to(endpoint peer, client_options const& options)
{
    route out{std::move(peer), {}};
    if (options.proxy && !options.proxy->empty()) {
        auto via = parse_proxy(*options.proxy);
        if (!via) throw_exception_from_error(via.error(), BOOST_CURRENT_LOCATION);
        out.via = std::move(*via);
    }
    return out;
}

} // namespace

/// The state that exchanges share. Every member is touched on the strand of the client's executor only.
class client::pool : public std::enable_shared_from_this<pool> {
public:
    pool(asio::any_io_executor ex, endpoint peer, client_options options);

    asio::awaitable<result<response>> exchange(request);
    void close();
    void enforce(); ///< of the watchdog

    asio::any_io_executor const executor;
    route const way;
    struct {
        std::atomic<std::size_t> connects{0}, requests{0}, replays{0}, resumptions{0};
    } counters;

private:
    using connections = std::list<pooled>;

    struct lane_state {
        std::size_t limit = 0;
        std::size_t granted = 0; // places promised to waiters that have not run yet
        connections busy, idle;  // idle: the most recently used first
        waiter::line waiting;
    };

    /// Holds a connection for one request; gives the place back however the exchange ends.
    struct place {
        pool& owner;
        lane_state& lane;
        connections::iterator at;
        place(pool& p, lane_state& l) : owner(p), lane(l), at(p.take(l)) {}
        place(place const&) = delete;
        ~place() { owner.give_back(lane, at); }
    };

    asio::awaitable<result<void>> vacancy(lane_state&, tick deadline);
    asio::awaitable<result<void>> connected(pooled&, tick deadline);
    connections::iterator take(lane_state&);
    connections::iterator add(lane_state&);
    void give_back(lane_state&, connections::iterator);
    void distrust(tick heard_before);
    void blame_proxy(result<response>& answer) const;
    void watch(connection&, tick deadline);

    client_options options_;
    std::unique_ptr<tls_client> tls_;
    std::shared_ptr<resolver> resolver_;
    std::array<lane_state, 2> lanes_;
    watchdog watchdog_;
    bool closed_ = false;
};

client::pool::pool(asio::any_io_executor ex, endpoint to, client_options options)
    : executor(ex), way(route_to(std::move(to), options)), options_(std::move(options)),
      resolver_(std::make_shared<resolver>(ex, way.first_hop())), watchdog_(ex)
{
    if (auto const wrong = options_.validate()) throw_exception_from_error(*wrong, BOOST_CURRENT_LOCATION);
    lanes_[0].limit = options_.data_connections;
    lanes_[1].limit = options_.control_connections;
    if (way.peer.tls) tls_ = std::make_unique<tls_client>(options_.ca_bundle);
}

asio::awaitable<result<response>> client::pool::exchange(request ask)
{
    auto const self = shared_from_this();
    try {
        auto& lane = lanes_[ask.via == net::lane::data ? 0 : 1];
        auto const timeout = std::clamp<std::chrono::milliseconds>(ask.timeout, {}, longest_wait);
        auto deadline = now() + timeout;
        if (!closed_ && lane.busy.size() + lane.granted >= lane.limit) {
            auto const room = co_await vacancy(lane, deadline);
            if (!room) co_return room.error();
        }
        if (closed_) co_return failure(errc::stopped, "the client is closed");

        place held(*this, lane);
        if (ask.write) ask.text = ask.write();
        bool const is_passed_on = way.via && !way.peer.tls;
        if (is_passed_on) address_to_proxy(ask.text, *way.via, way.peer);
        if (ask.long_poll) deadline = now() + timeout;
        ++counters.requests;
        std::optional<failure> lost; // once written, it may have been carried out, whatever follows
        for (;;) {
            auto const fresh = held.at->exchanges == 0;
            if (fresh) {
                auto const ready = co_await connected(*held.at, deadline);
                if (!ready && lost) co_return quern::detail::and_then(*lost, ready.error());
                if (!ready) co_return ready.error();
                if (ask.long_poll) deadline = now() + timeout;
            }
            watch(*held.at, deadline);
            auto const began = now();
            auto answer = co_await held.at->exchange(ask.text);
            held.at->deadline = tick::max();
            auto const died_waiting =
                !answer && answer.error().code == errc::connection_lost && held.at->unanswered();
            auto const went_silent = !answer && answer.error().code == errc::timed_out;
            if (fresh && (died_waiting || went_silent)) resolver_->demote(held.at->reached);
            if (!fresh && (died_waiting || went_silent)) distrust(began);
            if (is_passed_on) blame_proxy(answer);
            if (fresh || !died_waiting || !ask.repeatable || closed_) co_return answer;

            // The server had closed the kept-alive connection (RFC 9112, 9.3.1): once more, on a fresh one.
            ++counters.replays;
            lost = answer.error();
            lane.busy.erase(held.at);
            held.at = add(lane);
        }
    } catch (boost::system::system_error const& e) {
        // A cancellation that met no operation under way is thrown by the next co_await.
        if (e.code() != asio::error::operation_aborted) throw;
    }
    co_return failure(errc::stopped, "cancelled");
}

/// 407 is never the server's.
void client::pool::blame_proxy(result<response>& answer) const
{
    if (answer && answer->status == 407) answer = refused_by(*way.via, answer->status);
}

/// The wait for a place in a lane that is full.
asio::awaitable<result<void>> client::pool::vacancy(lane_state& lane, tick deadline)
{
    waiter in_line(executor, deadline, lane.waiting);
    auto const [ec] = co_await in_line.turn();
    if (in_line.is_called())
        --lane.granted;
    else if (ec)
        co_return failure(errc::stopped, "cancelled while waiting for a connection");
    else
        co_return failure(errc::connect_failed, "no connection of this lane came free in time", true);
    co_return result<void>();
}

asio::awaitable<result<void>> client::pool::connected(pooled& link, tick deadline)
{
    deadline = std::min(deadline, now() + options_.connect_timeout);
    auto const where = co_await resolver_->addresses(deadline);
    if (!where) co_return where.error();
    if (closed_) co_return failure(errc::stopped, "the client was closed during the look-up");
    ++counters.connects;
    watch(link, deadline);
    auto const opened = co_await link.open(way, *where);
    link.note_address();
    if (opened) {
        resolver_->prefer(link.reached);
        if (link.is_resumed()) ++counters.resumptions;
    } else if (opened.error().code != errc::stopped) {
        // After a reset nobody knows the address any more. Most likely it was the first; or none was reached.
        resolver_->demote(link.reached.port() != 0 ? link.reached : where->front());
    }
    co_return opened;
}

client::pool::connections::iterator client::pool::add(lane_state& lane)
{
    return lane.busy.emplace(
        lane.busy.end(), executor, tls_.get(), options_.max_header_bytes, options_.max_reply_bytes);
}

client::pool::connections::iterator client::pool::take(lane_state& lane)
{
    auto const time = now();
    while (!lane.idle.empty()) {
        auto const link = lane.idle.begin();
        auto const rest = time - link->idle_since;
        if (rest < options_.idle_timeout && (rest < rested || link->is_quiet())) {
            lane.busy.splice(lane.busy.end(), lane.idle, link);
            return link;
        }
        lane.idle.erase(link);
    }
    return add(lane);
}

void client::pool::give_back(lane_state& lane, connections::iterator link)
{
    link->deadline = tick::max();
    if (link->is_reusable() && !closed_) {
        link->idle_since = now();
        lane.idle.splice(lane.idle.begin(), lane.busy, link);
    } else {
        lane.busy.erase(link);
    }
    if (!lane.waiting.empty()) {
        auto& next = *lane.waiting.front();
        lane.waiting.pop_front();
        ++lane.granted;
        next.call();
    }
    if (lanes_[0].busy.empty() && lanes_[1].busy.empty()) watchdog_.rest();
}

/// A NAT or a load balancer that fails over forgets all connections, and no reset says so: where one was found dead,
/// those unheard of since before are given up as well. Else each would cost a request its whole timeout, a lease
/// extension its lease.
void client::pool::distrust(tick heard_before)
{
    for (auto& lane : lanes_)
        lane.idle.remove_if([&](connection const& link) { return link.idle_since < heard_before; });
}

void client::pool::watch(connection& link, tick deadline)
{
    link.deadline = deadline;
    watchdog_.watch(*this, deadline);
}

void client::pool::enforce()
{
    auto const time = now();
    connection* next = nullptr;
    for (auto& lane : lanes_) {
        for (auto& link : lane.busy) {
            if (link.deadline <= time) {
                link.note_address();
                link.abort(errc::timed_out);
            } else if (link.deadline != tick::max() && (!next || link.deadline < next->deadline)) {
                next = &link;
            }
        }
    }
    if (next) watch(*next, next->deadline);
}

void client::pool::close()
{
    closed_ = true;
    watchdog_.rest();
    resolver_->close();
    for (auto& lane : lanes_) {
        for (auto& link : lane.busy)
            link.abort(errc::stopped);
        lane.idle.clear();
        for (auto* one : lane.waiting)
            one->send_away();
    }
}

std::optional<failure> client_options::validate() const
{
    auto const wrong = [](char const* what) { return failure(errc::invalid_option, what); };
    if (connect_timeout.count() <= 0) return wrong("connect_timeout must be longer than zero");
    if (connect_timeout > longest_wait) return wrong("connect_timeout must not exceed a day");
    if (idle_timeout > longest_wait) return wrong("idle_timeout must not exceed a day");
    if (idle_timeout.count() < 0) return wrong("idle_timeout must not be negative");
    if (data_connections == 0) return wrong("data_connections must be at least 1");
    if (control_connections == 0) return wrong("control_connections must be at least 1");
    if (max_header_bytes < 1024) return wrong("max_header_bytes must be at least 1024");
    if (max_header_bytes > 1024 * 1024) return wrong("max_header_bytes must not exceed 1 MiB");
    if (max_reply_bytes == 0) return wrong("max_reply_bytes must be at least 1");
    if (proxy && !proxy->empty()) {
        if (auto const via = parse_proxy(*proxy); !via) return via.error();
    }
    return {};
}

client::client(asio::any_io_executor ex, endpoint peer, client_options options)
    : pool_(std::make_shared<pool>(std::move(ex), std::move(peer), std::move(options)))
{}

client::~client()
{
    pool_->close();
}

asio::awaitable<result<response>> client::exchange(request ask)
{
    return pool_->exchange(std::move(ask));
}

void client::close()
{
    pool_->close();
}

endpoint const& client::peer() const
{
    return pool_->way.peer;
}

client_counters client::counters() const
{
    auto const& now = pool_->counters;
    client_counters out;
    out.connects = now.connects;
    out.requests = now.requests;
    out.replays = now.replays;
    out.resumptions = now.resumptions;
    return out;
}

asio::any_io_executor client::get_executor() const
{
    return pool_->executor;
}

} // namespace quern::net
