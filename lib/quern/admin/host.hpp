#pragma once

#include <quern/admin/door.hpp>
#include <quern/admin/reporter.hpp>
#include <quern/metrics/collection.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <string>

namespace quern::admin {

struct host_options {
    net::web_server_options web{}; ///< where it listens; port 0: any that is free, see host::url()
    std::string program{};         ///< "shop", for the page
    std::string version{};         ///< the program's, for quern_build_info; empty: none

    /// Whether the page has a button for consumer::probe_now(). Off: everybody who can connect may look, not act.
    bool may_act = false;

    /// Numbers of /metrics, in place of those that it counts itself. Called on its own thread, as long as it lives.
    std::function<telemetry::snapshot()> numbers{};

    /// Number of processes like this one that are wanted, for /wanted. Null: nobody tells. Called likewise.
    std::function<wanted_processes()> wanted{};

    log_sink log = to_standard_error(); ///< told of what the page did
};

/// The page, probes and metrics of a program's consumers, on a port and a thread of their own:
///
///     quern::admin::host page(io.get_executor(), {.web = {.port = 9090}, .program = "shop"});
///     options.observer = page.observe(queue_url, mine); // mine: an observer, or null
///     quern::consumer orders(io, queue_url, handle, options);
///     page.watch(queue_url, orders);
///     page.begin().value();
///     ...
///     co_await page.end(); // before the consumer goes
///
/// A thread that does nothing but serve answers, and notices, when a handler blocks the consumers' thread.
///
/// Threads  observe() and watch() before begin(); the others any.
class host {
public:
    /// `of_consumers`: the executor that looks at them once a second; a pool of threads will do.
    ///
    /// Throws boost::system::system_error when an option is invalid.
    host(boost::asio::any_io_executor of_consumers, host_options, clock& = real_clock());
    ~host(); ///< closes the port
    host(host const&) = delete;
    host& operator=(host const&) = delete;

    /// The observer that the consumer of this queue is to have: consumer_options::observer. `next` is told of all
    /// events too.
    std::shared_ptr<observer> observe(std::string const& queue_url, std::shared_ptr<observer> next = {});

    /// Requires  observe() for this queue. The consumer lives until end() has completed.
    void watch(std::string const& queue_url, consumer&);
    void watch(std::string const& queue_url, consumer const&); ///< the button has no effect on this one

    /// Listens, unless it does already.
    ///
    /// Fails with  errc::connect_failed  the port is taken, or not allowed
    result<void> listen();

    /// Listens, and begins to look.
    result<void> begin();

    /// Completes when it has let go of the consumers. The port stays open until the object goes, and tells that the
    /// work has ended.
    ///
    /// Cancellation  none.
    boost::asio::awaitable<void> end();

    std::string url() const; ///< "http://127.0.0.1:9090", once it listens

    /// Numbers that it counts itself, for an exporter or a sampler: see metrics::collection.
    metrics::collection& numbers();

private:
    struct state;
    std::unique_ptr<state> const state_;
};

} // namespace quern::admin
