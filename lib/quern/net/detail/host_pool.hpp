#pragma once

#include <quern/core/clock.hpp>
#include <quern/net/detail/connection.hpp>
#include <quern/net/detail/resolver.hpp>
#include <quern/net/detail/tls_files.hpp>
#include <quern/net/detail/waiter.hpp>
#include <quern/net/message.hpp>
#include <quern/net/web_hook.hpp>

#include <boost/asio/steady_timer.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <string>

namespace quern::net::detail {

/// How the connections of a pool are made, and for how long they are good.
struct pool_rules {
    std::array<std::size_t, 2> limits{}; ///< how many there may be, by lane
    std::chrono::milliseconds connect_timeout{};
    std::chrono::milliseconds idle_timeout{};
    std::optional<std::chrono::milliseconds> max_age{}; ///< absent: a connection may have any
    std::chrono::milliseconds rested{}; ///< after so long a rest one is looked at before it is used: a system call
    std::size_t max_header_bytes = 0, max_reply_bytes = 0;

    /// The first of the times and limits that cannot work, by name: those that the options of all clients have.
    [[nodiscard]] std::optional<failure> validate() const;
};

/// Numbers that the pools of a client share.
struct pool_counters {
    std::atomic<std::size_t> connects{0}, requests{0}, replays{0}, resumptions{0};
};

/// One timer for the deadlines of many: it stands at the earliest, and a later one costs nothing. The owner, which is
/// kept in a shared_ptr, is told by enforce().
///
/// Threads  one strand: that of the executor given.
class watchdog {
public:
    explicit watchdog(boost::asio::any_io_executor ex) : timer_(std::move(ex)) {}

    /// Calls `owner.enforce()` at the deadline or before, and the watch is over.
    template <class Owner>
    void watch(Owner& owner, tick deadline)
    {
        if (deadline >= until_) return;
        until_ = deadline;
        timer_.expires_at(deadline);
        timer_.async_wait([this, self = owner.weak_from_this()](boost::system::error_code ec) {
            auto const alive = self.lock();
            if (!alive || ec) return;
            until_ = tick::max();
            alive->enforce();
        });
    }

    /// Stops watching.
    void rest()
    {
        timer_.cancel();
        until_ = tick::max(); // the cancelled wait does not reset it: the next deadline must arm the timer
    }

private:
    boost::asio::steady_timer timer_;
    tick until_ = tick::max();
};

/// The end of a connection's youth: up to a fifth early, so that those which were opened together do not end
/// together.
tick retirement(tick opened_at, std::chrono::milliseconds max_age, double random_part);

/// All that is known about one host: the way there, and the connections that are open, in two lanes.
///
/// Threads  one strand: that of the executor given.
class host_pool : public std::enable_shared_from_this<host_pool> {
public:
    /// `unix_socket`: where the host is reached instead; empty: nowhere.
    host_pool(boost::asio::any_io_executor, route, std::string unix_socket, pool_rules, tls_source,
        std::shared_ptr<pool_counters>);

    /// Sends the request and reads the whole answer; see client::exchange(). `self` is this pool, kept from the call
    /// on.
    boost::asio::awaitable<web_hook_result> exchange(std::shared_ptr<host_pool> self, request);

    void close();

    /// Ends what is overdue; of the watchdog.
    void enforce();

    bool is_busy() const;
    std::size_t connections() const;

    boost::asio::any_io_executor const executor;
    route const way;
    std::shared_ptr<pool_counters> const counters;

private:
    using link_ptr = std::shared_ptr<connection>;
    using links = std::list<link_ptr>;
    using trouble = std::optional<web_hook_error>;

    struct lane_state {
        std::size_t limit = 0;
        std::size_t granted = 0; // places promised to waiters that have not run yet
        links busy, idle;        // busy: null as long as there is none; idle: the most recently used first
        waiter::line waiting;
    };

    /// Holds a place in a lane for one request; gives it back however the exchange ends.
    struct place {
        host_pool& owner;
        lane_state& lane;
        links::iterator at;
        place(host_pool& p, lane_state& l) : owner(p), lane(l), at(p.take(l)) {}
        place(place const&) = delete;
        ~place() { owner.give_back(lane, at); }
    };

    boost::asio::awaitable<trouble> vacancy(lane_state&, tick deadline);
    boost::asio::awaitable<trouble> connected(link_ptr&, tick deadline);
    boost::asio::awaitable<trouble> opened(connection&, tcp_addresses const&);
    bool is_fit(connection const&, tick now) const;
    links::iterator take(lane_state&);
    void give_back(lane_state&, links::iterator);
    void learn(web_hook_fault, connection const&, bool is_fresh, tick began);
    void distrust(tick heard_before);
    void watch(connection&, tick deadline);

    pool_rules const rules_;
    std::string const unix_socket_;
    tls_source tls_;
    std::shared_ptr<resolver> names_; ///< null for a unix socket
    std::array<lane_state, 2> lanes_;
    watchdog watchdog_;
    bool closed_ = false;
};

} // namespace quern::net::detail
