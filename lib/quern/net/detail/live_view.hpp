#pragma once

#include <quern/core/alarm.hpp>
#include <quern/net/live_door.hpp>
#include <quern/net/web_server.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace quern::net::detail {

/// Answer to those who ask for a path, made on the view's executor. `token`: what an action has to bring.
struct live_route {
    std::string_view path;
    std::function<web_answer(web_request const&, std::string_view token)> answer;
    bool acts = false; ///< it changes something: asked for by POST, by whoever has the token
};

struct live_view_options {
    web_server_options web;
    std::string_view page;                ///< HTML with one style and one script; outlives the view
    std::function<std::string()> picture; ///< JSON on one line
    std::vector<live_route> routes;       ///< beside those to the page, its picture and its events
};

/// A page that follows what goes on behind it, and what a live_door serves beside it.
///
/// Lifetime  shared: its coroutine holds it until close().
/// Threads   one at a time, on the executor.
class live_view : public std::enable_shared_from_this<live_view> {
public:
    /// Throws boost::system::system_error when an option is invalid.
    live_view(boost::asio::any_io_executor, live_view_options, clock&);

    [[nodiscard]] result<void> listen();
    void close();

    web_server web;

private:
    web_answer serve(web_request const&) const;
    std::string event() const { return "data: " + options_.picture() + "\n\n"; }
    boost::asio::awaitable<void> tell();

    live_view_options options_;
    clock& time_;
    boost::asio::any_io_executor executor_;
    std::string const policy_;
    alarm again_;
    bool closed_ = false;
};

/// A policy that lets a browser run what stands in the page, and speak to where it came from, and nothing else.
std::string page_policy(std::string_view page);

} // namespace quern::net::detail
