#pragma once

#include <quern/idempotency/memory_store.hpp>
#include <quern/idempotency/once.hpp>

#include "consumer/mill.hpp"
#include "support/doubtful_store.hpp"

namespace quern::test {

using namespace idempotency;
using fate = doubtful_store::fate;
using way = doubtful_store::way;

/// A queue whose messages have their bodies for a key, and a consumer that does the work of each once.
struct once_mill : mill {
    std::shared_ptr<memory_store> rows = std::make_shared<memory_store>();
    std::shared_ptr<doubtful_store> store = std::make_shared<doubtful_store>(rows, time);
    once_options how;
    std::shared_ptr<once> guard;
    std::map<std::string, int> effects; // body -> times
    std::vector<std::string> operations;

    once_mill()
    {
        how.prefix = "test";
        how.key.what = key_source::kind::whole_body;
        how.time = &time;
        how.log = options.log;
        store->on = [this](std::string_view operation) {
            operations.emplace_back(operation);
            return way();
        };
    }

    std::string key_of(std::string const& body) const { return make_key(how.as, how.prefix, '"' + body + '"'); }

    void put(std::string body)
    {
        engine.send_message(sqs::send_message_request(url, std::move(body)), time.wall()).value();
    }

    template <class F>
    void work(F handle)
    {
        guard = std::make_shared<once>(store, how);
        std::function<asio::awaitable<outcome>(delivery&, receipt&)> const own =
            [this, handle](delivery& d, receipt& r) mutable -> asio::awaitable<outcome> {
            auto const said = co_await handle(d, r);
            if (said.what() == outcome::kind::ack) ++effects[std::string(d.body())];
            co_return said;
        };
        consume(guard->around(own));
    }

    void work()
    {
        work([](delivery&, receipt&) -> asio::awaitable<outcome> { co_return ack(); });
    }

    /// pause() that obeys a cancellation.
    asio::awaitable<void> rest(std::chrono::milliseconds d)
    {
        co_await pause(d);
        auto const state = co_await asio::this_coro::cancellation_state;
        if (state.cancelled() != asio::cancellation_type::none)
            throw boost::system::system_error(asio::error::operation_aborted);
    }

    /// Puts somebody else's claim into the store.
    void claim_for_another(std::string const& body, std::chrono::milliseconds lasts)
    {
        claim_request r;
        r.key = key_of(body);
        r.row.owner = "another";
        r.row.expires = time.wall() + 1h;
        r.row.in_progress_until = time.wall() + lasts;
        r.now = time.wall();
        asio::co_spawn(io, rows->claim(std::move(r)),
            [](std::exception_ptr, auto const& said) { BOOST_TEST(said.value().applied); });
        time.run_for(io, 0s);
    }

    /// The same from within a handler.
    void claim_for_another_soon(std::chrono::milliseconds lasts = std::chrono::hours(1))
    {
        claim_request r;
        r.key = key_of("a");
        r.row.owner = "another";
        r.row.expires = time.wall() + 1h;
        r.row.in_progress_until = time.wall() + lasts;
        r.now = time.wall();
        asio::co_spawn(io, rows->claim(std::move(r)), [](std::exception_ptr, auto const&) {});
    }

    void complete_for_another(std::string const& body)
    {
        record done;
        done.is = record::state::completed;
        done.owner = "another";
        done.expires = time.wall() + 1h;
        asio::co_spawn(io, rows->complete(key_of(body), done), [](std::exception_ptr, auto const&) {});
    }

    int count(char const* operation) const { return static_cast<int>(std::ranges::count(operations, operation)); }
};

} // namespace quern::test
