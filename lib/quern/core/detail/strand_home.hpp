#pragma once

#include <quern/core/detail/ask.hpp>
#include <quern/core/detail/compact_strand.hpp>
#include <quern/core/lodgers.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>

#include <exception>
#include <memory>
#include <utility>

namespace quern {

/// The way to a state that is touched on its strand only and ends with its context, for an object that may be called,
/// and destroyed, anywhere: on the strand one finds it at once, from elsewhere one comes as a visitor.
///
/// State    a lodgers::lodger with a `compact_strand strand` and a `close()` that ends what is under way.
/// Threads  any.
template <class State>
class strand_home {
public:
    using purpose = lodgers::purpose;

    explicit strand_home(std::shared_ptr<State> const& lives)
        : street_(lodgers::of(boost::asio::query(lives->strand, boost::asio::execution::context))), who_(lives),
          guest_(lives), strand_id_(lives->strand.id())
    {
        street_->add(lives);
    }

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
        lodgers::visit at(*street_, guest_, what_for);
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
    std::shared_ptr<lodgers> const street_;
    std::weak_ptr<State> const who_;
    /// The same. Made of the other for each visit, it would hold the state for a moment before the visit counts.
    std::weak_ptr<lodgers::lodger> const guest_;
    void const* const strand_id_;
};

namespace detail {

/// An operation that is awaited elsewhere, on the strand.
template <class Request>
struct guest {
    explicit guest(Request what) : request(std::move(what)) {}

    Request request;
    boost::asio::cancellation_signal stop; // on the strand
};

/// Spawns the operation on the strand; `op` lives as long as it.
template <class Request, class Response>
void begin(boost::asio::any_io_executor const& strand, boost::asio::awaitable<Response> work,
    std::shared_ptr<guest<Request>> const& op, asker<Response> who)
{
    auto done = [op, who = std::move(who)](std::exception_ptr thrown, Response said) {
        if (thrown)
            who.fail(std::move(thrown));
        else
            who.tell(std::move(said));
    };
    boost::asio::co_spawn(
        strand, std::move(work), boost::asio::bind_cancellation_slot(op->stop.slot(), std::move(done)));
}

} // namespace detail

/// Carries `on_strand(to, request)` out on the strand, for a caller elsewhere, who resumes at home.
///
/// Response      a result. errc::stopped when the state is gone.
/// Cancellation  terminal, as the operation has it.
template <class Home, class Request, class Response>
boost::asio::awaitable<Response> from_elsewhere(std::shared_ptr<Home const> to, Request request,
    boost::asio::awaitable<Response> (*on_strand)(std::shared_ptr<Home const>, Request))
{
    auto const op = std::make_shared<detail::guest<Request>>(std::move(request));
    auto go = [to, op, on_strand](asker<Response> who) {
        to->visit([&](auto const& at) {
            boost::asio::post(at->strand, [at, to, op, on_strand, who] {
                detail::begin(at->strand, on_strand(to, std::move(op->request)), op, who);
            });
        });
    };
    auto stop = [to, op] {
        to->visit([&](auto const& at) {
            boost::asio::post(at->strand, [op] { op->stop.emit(boost::asio::cancellation_type::terminal); });
        });
    };
    return ask<Response>(std::move(go), std::move(stop));
}

} // namespace quern
