#pragma once

#include <quern/core/error.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace quern::net {

namespace detail {
class live_view;
}

/// Server that shows over HTTP what a program does: what admin::door and broker::door have in common.
///
///     /livez /readyz /startupz   200 or 503, with the reason
///     /metrics                   for Prometheus, where there are metrics
///     /explain                   the picture as JSON
///     /events                    the same once a second, as server-sent events
///     /                          a page that shows them
///
/// Threads   one at a time, on its executor.
class live_door {
public:
    live_door(live_door const&) = delete;
    live_door& operator=(live_door const&) = delete;

    [[nodiscard]] result<void> listen();
    std::uint16_t port() const; ///< 0 before listen()
    std::string url() const;    ///< "http://127.0.0.1:9090"

    /// Closes all connections, and accepts no more.
    void close();

protected:
    explicit live_door(std::shared_ptr<detail::live_view> shown) : view_(std::move(shown)) {}
    ~live_door() { close(); }

private:
    std::shared_ptr<detail::live_view> const view_;
};

} // namespace quern::net
