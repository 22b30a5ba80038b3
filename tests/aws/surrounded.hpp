#pragma once

#include "support/paper_files.hpp"

#include <quern/aws/config/surroundings.hpp>
#include <quern/core/detail/text/date.hpp>
#include <quern/sim/virtual_clock.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace quern::test {

using namespace quern::detail;

/// A network of prepared answers. Where there is none, nobody answers.
class paper_web final : public aws::web {
public:
    std::deque<result<net::response>> answers;
    std::vector<aws::web_request> asked;

    boost::asio::awaitable<result<net::response>> send(aws::web_request request) override
    {
        asked.push_back(std::move(request));
        if (answers.empty()) co_return failure(errc::timed_out, "nobody", true);
        auto next = std::move(answers.front());
        answers.pop_front();
        co_return next;
    }

    void add(int status, std::string body)
    {
        net::response answer;
        answer.status = status;
        answer.body = std::move(body);
        answers.emplace_back(std::move(answer));
    }

    /// Value of a header of a request; "none" when it has no such header.
    std::string header(std::size_t request, std::string_view name) const
    {
        for (auto const& [key, value] : asked.at(request).headers) {
            if (key == name) return value;
        }
        return "none";
    }
};

/// Where credentials are looked for in a test: nothing of it is real, and no time passes but by waiting.
struct surrounded {
    boost::asio::io_context io;
    sim::virtual_clock time{*text::parse_rfc3339("2026-01-02T03:04:05Z")};
    paper_web web;
    paper_files files;
    std::map<std::string, std::string> variables{{"HOME", "/h"}};
    aws::surroundings around{web, [this](char const* name) { return variable(name); }, files, time};

    std::string variable(std::string const& name) const
    {
        auto const at = variables.find(name);
        return at == variables.end() ? std::string() : at->second;
    }

    /// The result of the work, within an hour.
    template <class T>
    T run(boost::asio::awaitable<T> work)
    {
        std::optional<T> out;
        boost::asio::co_spawn(io, std::move(work), [&](std::exception_ptr thrown, T value) {
            if (thrown) std::rethrow_exception(thrown);
            out.emplace(std::move(value));
        });
        while (!time.run_until_done(io, std::chrono::hours(1), [&] { return out.has_value(); })) {
            io.restart();
            if (io.run_one() == 0) break; // something real, like a process, has to happen first
        }
        return std::move(out.value());
    }
};

} // namespace quern::test
