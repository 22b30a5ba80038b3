#pragma once

#include <quern/idempotency/store.hpp>

#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace quern::test {

/// A store behind a network that may be slow, lose requests, and lose answers.
class doubtful_store final : public idempotency::store {
public:
    enum class fate { carried_out, not_sent, answer_lost };
    struct way {
        fate what = fate::carried_out;
        std::chrono::milliseconds there{0}, back{0};
    };

    doubtful_store(std::shared_ptr<idempotency::store> honest, clock& time) : honest_(std::move(honest)), time_(time)
    {}

    std::function<way(std::string_view operation)> on = [](std::string_view) { return way(); };
    std::chrono::milliseconds offset{};

    answer<idempotency::store_answer> claim(idempotency::claim_request r) override
    {
        return through("claim", honest_, &store::claim, std::move(r));
    }
    answer<idempotency::store_answer> extend(std::string key, idempotency::record claim) override
    {
        return through("extend", honest_, &store::extend, std::move(key), std::move(claim));
    }
    answer<idempotency::store_answer> complete(std::string key, idempotency::record done) override
    {
        return through("complete", honest_, &store::complete, std::move(key), std::move(done));
    }
    answer<idempotency::store_answer> abandon(std::string key, std::string owner) override
    {
        return through("abandon", honest_, &store::abandon, std::move(key), std::move(owner));
    }
    std::chrono::milliseconds clock_offset() const override { return offset; }

private:
    template <class... Parameters, class... Arguments>
    answer<idempotency::store_answer> through(std::string_view operation, std::shared_ptr<store> to,
        answer<idempotency::store_answer> (store::*call)(Parameters...), Arguments... arguments)
    {
        auto const how = on(operation);
        co_await pass(how.there);
        if (how.what == fate::not_sent) co_return failure(errc::timed_out, "not sent", true);
        auto said = co_await ((*to).*call)(std::move(arguments)...);
        co_await pass(how.back);
        if (how.what == fate::answer_lost) co_return failure(errc::timed_out, "no answer", true);
        co_return said;
    }

    boost::asio::awaitable<void> pass(std::chrono::milliseconds for_so_long)
    {
        if (for_so_long.count() == 0) co_return;
        auto const ex = co_await boost::asio::this_coro::executor;
        auto const timer = time_.make_timer(ex);
        co_await timer->wait_until(time_.now() + for_so_long);
    }

    std::shared_ptr<idempotency::store> const honest_;
    clock& time_;
};

} // namespace quern::test
