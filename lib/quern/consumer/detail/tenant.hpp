#pragma once

#include <quern/consumer/drain_report.hpp>
#include <quern/core/detail/ask.hpp>
#include <quern/core/detail/compact_strand.hpp>
#include <quern/core/error.hpp>
#include <quern/core/lodgers.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace quern::detail {

/// A state at work as its context knows it: it ends with the context at the latest, whoever still refers to it.
///
/// State  has a strand(), and context_ends(), after which nothing reaches that.
template <class State>
class tenant final : public lodgers::lodger {
public:
    explicit tenant(std::shared_ptr<State> of) : state_(std::move(of)) {}
    ~tenant() override { state_->context_ends(); }

    std::shared_ptr<State> const& of() const { return state_; }

private:
    std::shared_ptr<State> const state_;
};

/// Calls `then` with the state, unless its context has ended.
template <class State, class Then>
void visit_tenant(lodgers::place const& to, Then then)
{
    lodgers::visit const at(to);
    if (at.who) then(static_cast<tenant<State>&>(*at.who).of());
}

/// Posted, always: on a thread of the context a dispatched call could run what waits on the strand, classify and the
/// log included, on the stack of its caller, who may hold the lock that these want.
template <class State, class Call>
void post_to(lodgers::place const& to, Call call)
{
    visit_tenant<State>(to, [&](std::shared_ptr<State> const& all) {
        boost::asio::post(all->strand(), [all, call = std::move(call)]() mutable { call(*all); });
    });
}

/// Somebody who waits for the end: of a drain, or of a run, who is told of a failure as well.
struct end_waiter {
    asker<drain_report> of_drain;
    asker<result<drain_report>> of_run;
    void const* strand_id = nullptr; ///< of the coroutine that waits, where it runs on a compact_strand

    void tell(std::optional<failure> const& gave_up, drain_report const& report) const
    {
        of_drain.tell(report);
        of_run.tell(gave_up ? result<drain_report>(*gave_up) : result<drain_report>(report));
    }
    void leave() const
    {
        of_drain.fail(boost::asio::error::operation_aborted);
        of_run.fail(boost::asio::error::operation_aborted);
    }
};

/// Does `first`, and completes when the state tells the one of the waiter's two askers that `as` names. `stays`:
/// until it has joined.
template <class State, class First, class T>
boost::asio::awaitable<T> wait_for_end(
    lodgers::place to, First first, asker<T> end_waiter::*as, std::shared_ptr<void> stays = {})
{
    auto const waiter = std::make_shared<end_waiter>();
    auto const ex = co_await boost::asio::this_coro::executor;
    if (auto const* const strand = ex.template target<compact_strand>()) waiter->strand_id = strand->id();
    auto cancel = [to, who = std::weak_ptr(waiter)] {
        post_to<State>(to, [who](State& all) { all.leave(who.lock()); });
    };
    auto begin = [to, waiter, first, stays = std::move(stays), as](asker<T> who) {
        (*waiter).*as = std::move(who);
        post_to<State>(to, [waiter, first](State& all) {
            first(all);
            all.join(waiter);
        });
    };
    auto end = ask<T>(std::move(begin), std::move(cancel));
    co_return co_await std::move(end);
}

} // namespace quern::detail
