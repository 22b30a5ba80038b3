#include <quern/aws/credentials/cached_credentials.hpp>
#include <quern/aws/credentials/detail/refresh.hpp>
#include <quern/core/detail/alarm_line.hpp>
#include <quern/core/detail/random_part.hpp>
#include <quern/core/detail/text/date.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <exception>
#include <utility>

namespace quern::aws {

using namespace detail;
using namespace quern::detail;
namespace asio = boost::asio;

namespace {

using advice = refresh_rule::advice;

/// Far beyond what any way to credentials takes: whoever is silent for so long will stay so.
constexpr std::chrono::minutes longest_load{5};

/// The part that outlives the provider: a load that has begun ends by itself.
class cache : public std::enable_shared_from_this<cache> {
public:
    cache(asio::any_io_executor ex, std::unique_ptr<credentials_source> source, clock& time,
        std::function<double()> jitter)
        : executor_(std::move(ex)), source_(std::move(source)), clock_(time),
          jitter_(jitter ? std::move(jitter) : random_part)
    {}

    shared_credentials at_hand()
    {
        auto const now = rule_.at(moment());
        if (now == advice::renew) start();
        return now == advice::use || now == advice::renew ? keys_ : nullptr;
    }

    static asio::awaitable<result<shared_credentials>> get(std::shared_ptr<cache> self)
    {
        if (auto ready = self->at_hand()) co_return ready;
        if (self->stopped_) co_return closed();
        if (!self->loading_ && self->rule_.at(self->moment()) == advice::fail) co_return self->last_failure_;
        self->start();
        if (self->loading_) {
            alarm bell(self->clock_, self->executor_);
            alarm_line::place const here(self->waiting_, bell);
            co_await bell.wait();
            auto const state = co_await asio::this_coro::cancellation_state;
            if (state.cancelled() != asio::cancellation_type::none) {
                co_return failure(errc::stopped, "cancelled while waiting for credentials");
            }
        }
        if (self->stopped_) co_return closed();
        if (self->last_failed_) co_return self->last_failure_;
        co_return self->keys_;
    }

    renewal renew(shared_credentials const& refused)
    {
        if (refused != keys_ || rule_.refused(moment(), jitter_())) return renewal::now;
        return came_again_ ? renewal::never : renewal::later;
    }

    void stop()
    {
        if (std::exchange(stopped_, true)) return;
        if (loading_) cancel_.emit(asio::cancellation_type::terminal);
        waiting_.ring();
    }

private:
    static failure closed() { return failure(errc::stopped, "the provider of credentials is closed"); }

    refresh_rule::moment moment() const { return {clock_.now(), clock_.wall()}; }

    void start()
    {
        if (stopped_) return;
        if (loading_) return give_up_what_hangs();
        loading_ = true;
        is_given_up_ = false;
        began_ = clock_.now();
        // Where the context goes first, nothing is left of the load that could be cancelled.
        std::shared_ptr<void> const going(nullptr, [self = shared_from_this()](void*) { self->loading_ = false; });
        auto const done = [self = shared_from_this(), going](std::exception_ptr thrown, result<credentials> found) {
            if (thrown) found = why(thrown);
            self->finish(std::move(found));
        };
        asio::co_spawn(executor_, load(shared_from_this()), asio::bind_cancellation_slot(cancel_.slot(), done));
    }

    void give_up_what_hangs()
    {
        if (is_given_up_ || clock_.now() - began_ < longest_load) return;
        is_given_up_ = true;
        cancel_.emit(asio::cancellation_type::terminal);
    }

    /// Its frame keeps the source alive.
    static asio::awaitable<result<credentials>> load(std::shared_ptr<cache> self)
    {
        co_await asio::post(self->executor_, asio::use_awaitable); // sources open files, and start processes
        co_return co_await self->source_->load();
    }

    static failure why(std::exception_ptr thrown)
    {
        try {
            std::rethrow_exception(thrown);
        } catch (std::exception const& e) {
            return failure(errc::no_credentials, std::string("the source of credentials failed: ") + e.what(), true);
        } catch (...) {
            return failure(errc::no_credentials, "the source of credentials failed", true);
        }
    }

    void finish(result<credentials> found)
    {
        loading_ = false;
        if (is_given_up_ && !found) {
            found = failure(errc::timed_out, "the source of credentials had not answered after 5 minutes", true);
        }
        if (found) {
            if (auto const flaw = flaw_of(*found))
                found = failure(errc::no_credentials, "the credentials are unusable: " + *flaw);
        }
        if (found && !rule_.loaded(moment(), found->expires_at, jitter_())) {
            found = failure(errc::no_credentials,
                "the credentials that came have expired, at " +
                    std::string(text::timestamp(*found->expires_at).text()) +
                    ": is this machine's clock right, and is what they come from up to date?",
                true);
        }
        last_failed_ = !found;
        if (found) {
            came_again_ = keys_ && *keys_ == *found && !found->expires_at;
            keys_ = std::make_shared<credentials const>(std::move(*found));
        } else {
            last_failure_ = found.error();
            last_failure_.retryable = last_failure_.retryable || keys_; // there have been some
            rule_.failed(moment(), jitter_());
        }
        waiting_.ring();
    }

    asio::any_io_executor executor_;
    std::unique_ptr<credentials_source> source_;
    clock& clock_;
    std::function<double()> jitter_;
    refresh_rule rule_;
    shared_credentials keys_;
    failure last_failure_;
    bool last_failed_ = false;
    bool loading_ = false;
    bool stopped_ = false;
    bool came_again_ = false; ///< when they were loaded anew they were the same, and without an end
    tick began_{};            ///< the load
    bool is_given_up_ = false;
    alarm_line waiting_;
    asio::cancellation_signal cancel_;
};

class cached_provider final : public credentials_provider {
public:
    explicit cached_provider(std::shared_ptr<cache> c) : cache_(std::move(c)) {}
    cached_provider(cached_provider const&) = delete;
    ~cached_provider() override { cache_->stop(); }
    void close() override { cache_->stop(); }

    shared_credentials at_hand() override { return cache_->at_hand(); }
    asio::awaitable<result<shared_credentials>> get() override { return cache::get(cache_); }
    renewal renew(shared_credentials const& refused) override { return cache_->renew(refused); }

private:
    std::shared_ptr<cache> cache_;
};

} // namespace

std::shared_ptr<credentials_provider> cached_credentials(
    asio::any_io_executor ex, std::unique_ptr<credentials_source> source, clock& time, std::function<double()> jitter)
{
    return std::make_shared<cached_provider>(
        std::make_shared<cache>(std::move(ex), std::move(source), time, std::move(jitter)));
}

} // namespace quern::aws
