#pragma once

#include <quern/net/detail/connection.hpp>
#include <quern/net/detail/resolver.hpp>
#include <quern/net/detail/tls_files.hpp>
#include <quern/net/detail/waiter.hpp>
#include <quern/net/web_hook_client.hpp>

#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <string>

namespace quern::net {

/// A connection to a user's web service, and for how long it is good.
struct web_hook_link {
    std::shared_ptr<tls_client> tls; ///< needed by the connection to its end; null for http
    connection wire;
    tick retire_at; ///< it gets no request from then on

    web_hook_link(boost::asio::any_io_executor, std::shared_ptr<tls_client>, web_hook_options const&, tick opened_at);
};

using web_hook_link_ptr = std::shared_ptr<web_hook_link>;

/// The end of a connection's youth: up to a fifth early, so that those which were opened together do not end
/// together.
tick retirement(tick opened_at, std::chrono::milliseconds max_age, double random_part);

/// All that is known about one host: the way there, and the connections that are open.
///
/// Threads  one strand.
class web_hook_host {
public:
    /// Holds a place among the connections for one request; gives it back however the request ends.
    class place {
    public:
        place(web_hook_host&, tick now);
        place(place const&) = delete;
        ~place() { host_.give_back(at_); }

        web_hook_link_ptr& link() { return *at_; } ///< null: there is none yet

    private:
        web_hook_host& host_;
        std::list<web_hook_link_ptr>::iterator at_;
    };

    /// Options and files outlive the host.
    web_hook_host(boost::asio::any_io_executor, route, std::string unix_socket, web_hook_options const&, tls_files&);

    /// Waits for a place, if none is free.
    boost::asio::awaitable<std::optional<web_hook_error>> vacancy(tick deadline);

    /// A connection that is yet to be opened, with the newest TLS files.
    [[nodiscard]] result<web_hook_link_ptr> unopened(tick now);

    /// Opens it.
    boost::asio::awaitable<std::optional<web_hook_error>> open(web_hook_link&, tick deadline);

    /// Gives up idle connections that were last heard of before: the other end has forgotten them, it seems.
    void distrust(tick heard_before);

    /// Ends what is overdue. The next deadline; tick::max() when there is none.
    tick enforce(tick now);

    void close();

    bool is_busy() const { return !busy_.empty() || !waiting_.empty() || granted_ != 0; }
    std::size_t connections() const { return busy_.size() + idle_.size(); }

    route const way;
    std::string const unix_socket;

private:
    using links = std::list<web_hook_link_ptr>;

    bool is_fit(web_hook_link const&, tick now) const;
    links::iterator take(tick now);
    void give_back(links::iterator);

    boost::asio::any_io_executor executor_;
    web_hook_options const& options_;
    tls_files& files_;
    std::shared_ptr<resolver> names_; ///< null for a unix socket
    std::shared_ptr<tls_client> tls_;
    std::shared_ptr<tls_material const> tls_is_of_;
    links busy_, idle_;       // idle: the most recently used first
    std::size_t granted_ = 0; // places promised to waiters that have not run yet
    waiter::line waiting_;
    bool closed_ = false;
};

} // namespace quern::net
