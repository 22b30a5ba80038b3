#pragma once

#include <quern/core/clock.hpp>
#include <quern/net/web_hook.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <string_view>
#include <utility>

namespace quern::test {

/// A web service that answers as it is told to.
class paper_service : public net::web_hook_sender {
public:
    explicit paper_service(clock& time, boost::asio::any_io_executor ex) : time_(time), ex_(std::move(ex)) {}

    boost::asio::awaitable<net::web_hook_result> send(net::web_hook_request r) override
    {
        struct leave {
            int& under_way;
            int& cut;
            bool whole = false;
            ~leave()
            {
                --under_way;
                cut += !whole;
            }
        } at_end{++under_way, cut};
        requests.push_back(r);
        if (takes.count() != 0) {
            auto const timer = time_.make_timer(ex_);
            co_await timer->wait_until(time_.now() + takes);
            auto const asked = (co_await boost::asio::this_coro::cancellation_state).cancelled();
            if (asked != boost::asio::cancellation_type::none) {
                net::web_hook_error stopped(net::web_hook_fault::cancelled, failure(errc::stopped, "cancelled"));
                co_return stopped;
            }
        }
        at_end.whole = true;
        co_return answer(r);
    }

    static net::web_hook_result status(int code, std::string_view retry_after = {})
    {
        net::response out;
        out.status = code;
        if (!retry_after.empty()) out.fields.add("Retry-After", retry_after);
        return out;
    }
    static net::web_hook_result fault(net::web_hook_fault what)
    {
        return net::web_hook_error(what, failure(errc::connect_failed, "refused"));
    }

    int seen(std::string_view body) const
    {
        return static_cast<int>(std::ranges::count(requests, body, &net::web_hook_request::body));
    }

    std::function<net::web_hook_result(net::web_hook_request const&)> answer = [](auto const&) {
        return status(200);
    };
    std::chrono::milliseconds takes{0};
    std::deque<net::web_hook_request> requests;
    int under_way = 0, cut = 0;

private:
    clock& time_;
    boost::asio::any_io_executor ex_;
};

} // namespace quern::test
