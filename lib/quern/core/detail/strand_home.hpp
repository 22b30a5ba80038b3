#pragma once

#include <quern/core/detail/compact_strand.hpp>
#include <quern/core/error.hpp>
#include <quern/core/lodgers.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/query.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace quern::detail {

/// The way to a state that is touched on its strand only and ends with its context, for an object that may be called,
/// and destroyed, anywhere. Call find() on its strand, and visit() from any other thread.
///
/// State    a lodgers::lodger with a `compact_strand strand` and a `close()` that ends what is under way.
/// Threads  any.
template <class State>
class strand_home {
public:
    using purpose = lodgers::purpose;

    explicit strand_home(std::shared_ptr<State> const& lives)
        : place_(lodgers::move_in(boost::asio::query(lives->strand, boost::asio::execution::context), lives)),
          who_(lives), strand_id_(lives->strand.id())
    {}

    bool is_here(boost::asio::any_io_executor const& ex) const
    {
        auto const* const strand = ex.target<compact_strand>();
        return strand && strand->id() == strand_id_;
    }

    /// On the strand: the state, or null.
    std::shared_ptr<State> find() const { return who_.lock(); }

    /// Calls f(state) unless that is gone.
    template <class F>
    void visit(F f, purpose what_for = purpose::stay) const
    {
        lodgers::visit at(place_, what_for);
        if (at.who) f(std::static_pointer_cast<State>(at.who));
    }

    /// Closes the state, on its strand.
    void close(purpose what_for = purpose::stay) const
    {
        visit([](auto const& at) { boost::asio::dispatch(at->strand, [at] { at->close(); }); }, what_for);
    }

    /// None once its context has ended.
    boost::asio::any_io_executor strand() const
    {
        boost::asio::any_io_executor out;
        visit([&](auto const& at) { out = at->strand; });
        return out;
    }

private:
    /// Place of the object of who_. Converting that one for each visit would own the state before the visit counts.
    lodgers::place const place_;
    std::weak_ptr<State> const who_;
    void const* const strand_id_;
};

/// Calls what it is given with the strand, while its context cannot end; nothing where the strand has gone.
using find_strand = std::function<void(std::function<void(compact_strand const&)> const&)>;

/// Carries `work` out on the strand, for a caller elsewhere, which resumes on its own executor. False when the strand
/// is gone. Throws what `work` throws.
boost::asio::awaitable<bool> visit_strand(find_strand, std::function<boost::asio::awaitable<void>()> work);

/// Carries `on_strand(to, request)` out on the strand, for a caller elsewhere, who resumes at home.
///
/// Response      a result. errc::stopped when the state is gone.
/// Cancellation  terminal, as the operation has it.
template <class Home, class Request, class Response>
boost::asio::awaitable<Response> from_elsewhere(std::shared_ptr<Home const> to, Request request,
    boost::asio::awaitable<Response> (*on_strand)(std::shared_ptr<Home const>, Request))
{
    struct errand {
        Request request;
        std::optional<Response> said;
    };
    auto const one = std::make_shared<errand>(errand{std::move(request), std::nullopt});
    auto carry_out = [](auto at, auto what, auto how) -> boost::asio::awaitable<void> {
        auto work = how(std::move(at), std::move(what->request));
        what->said.emplace(co_await std::move(work));
    };
    auto visit = visit_strand([to](auto const& f) { to->visit([&](auto const& at) { f(at->strand); }); },
        [=] { return carry_out(to, one, on_strand); });
    bool const arrived = co_await std::move(visit);
    if (!arrived) co_return failure(errc::stopped, "what was asked is gone");
    co_return std::move(*one->said);
}

} // namespace quern::detail
