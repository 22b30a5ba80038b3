#pragma once

#include "redrive/yard.hpp"

#include <quern/redrive/journal.hpp>

#include <memory>
#include <string>
#include <utility>

namespace quern::test {

/// A process that is killed at one of its points.
struct doom {
    int at = 0; // counted from 1; 0: never
    int seen = 0;
    bool is_dead = false;

    /// Whether this is the point; dead is dead.
    bool strikes()
    {
        is_dead = is_dead || ++seen == at;
        return is_dead;
    }
};

/// Calls of a process that may die before the request has reached the service, or after it was carried out.
class mortal_api : public sqs::forwarding_api<mortal_api> {
public:
    mortal_api(sqs::api& real, doom& end, quern::clock& time, asio::any_io_executor ex)
        : real_(real), end_(end), time_(time), ex_(std::move(ex))
    {}

    template <class Request>
    sqs::answer<typename Request::response> carry(Request r)
    {
        quern::alarm never(time_, ex_);
        constexpr bool counts = Request::operation != std::string_view("GetQueueAttributes");
        if (end_.is_dead || (counts && end_.strikes())) co_await never.wait();
        if (auto f = before(Request::operation)) co_return *f;
        auto said = co_await sqs::perform(real_, std::move(r));
        if (end_.is_dead || (counts && end_.strikes())) co_await never.wait();
        if (auto f = after(Request::operation)) co_return *f;
        co_return said;
    }

    using fault = std::function<std::optional<failure>(std::string_view operation)>;
    fault before = [](auto) { return std::optional<failure>(); }, after = before;

private:
    sqs::api& real_;
    doom& end_;
    quern::clock& time_;
    asio::any_io_executor ex_;
};

/// A disk on which a write may be cut by a kill: none of it, half of it, all of it.
struct disk {
    std::string text;
    std::size_t appends = 0;
};
class mortal_file final : public redrive::journal_file {
public:
    mortal_file(disk& on, doom& end) : on_(on), end_(end) {}

    result<std::string> read() override { return on_.text; }
    result<void> append(std::string_view text) override
    {
        failure const dead(errc::stopped, "dead");
        ++on_.appends;
        if (end_.strikes()) return dead;
        if (end_.strikes()) {
            on_.text += text.substr(0, text.size() / 2);
            return dead;
        }
        on_.text += text;
        if (end_.strikes()) return dead;
        return {};
    }
    result<void> cut(std::size_t size) override
    {
        on_.text.resize(size);
        return {};
    }
    bool is_cancelled() override { return false; }

private:
    disk& on_;
    doom& end_;
};

struct mortal_context : asio::io_context {
    using asio::execution_context::shutdown;
};

/// A process: all that a kill takes.
struct life {
    mortal_context io;
    sim::local_api local;
    doom end;
    mortal_api api;
    redrive::journal record;
    redrive::redriver driver;
    std::optional<result<redrive::report>> report;

    static redrive::options with(redrive::options o, redrive::journal& j)
    {
        o.record = &j;
        return o;
    }

    life(broker::engine& engine, sim::virtual_clock& time, disk& d, redrive::options const& o, int dies_at)
        : local(engine, time, io.get_executor()), end{dies_at}, api(local, end, time, io.get_executor()),
          record(redrive::journal::open(std::make_unique<mortal_file>(d, end)).value()),
          driver(io.get_executor(), api, with(o, record))
    {
        asio::co_spawn(io, driver.run(), [this](std::exception_ptr bug, result<redrive::report> said) {
            if (bug) std::rethrow_exception(bug);
            report = std::move(said);
        });
    }
    ~life() { io.shutdown(); }
};

} // namespace quern::test
