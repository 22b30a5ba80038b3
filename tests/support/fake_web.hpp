#pragma once

#include <quern/net/web_hook.hpp>

#include <boost/asio/awaitable.hpp>

#include <string>
#include <utility>
#include <vector>

namespace quern::test {

/// A web service that says the same to every request, and keeps them. Status 0: it can't be reached.
struct fake_web final : net::web_hook_sender {
    boost::asio::awaitable<net::web_hook_result> send(net::web_hook_request r) override
    {
        sent.push_back(std::move(r));
        if (status == 0)
            co_return net::web_hook_error(
                net::web_hook_fault::not_connected, failure(errc::connect_failed, "refused"));
        net::response out;
        out.status = status;
        out.body = body;
        if (!pause.empty()) out.fields.add("retry-after", pause);
        co_return out;
    }

    int status = 200;
    std::string body, pause;
    std::vector<net::web_hook_request> sent;
};

} // namespace quern::test
