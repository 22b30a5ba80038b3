#include <quern/consumer/detail/run/handler_context.hpp>

#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>

#include <utility>

namespace quern::detail {

namespace asio = boost::asio;

/// The part of a handler_context that lives in the other context, and ends with it at the latest.
struct handler_context::presence final : lodgers::lodger {
    presence(asio::any_io_executor ex, std::shared_ptr<handler_channel> to)
        : executor(std::move(ex)), told(std::move(to))
    {}
    ~presence() override
    {
        if (told) told->context_is_gone();
    }

    asio::any_io_executor const executor;  // may not outlive the context: that of a strand refers to a service of it
    std::shared_ptr<handler_channel> told; // null: we go first
};

/// An executor of a context that may have ended. It never runs a function at once: that would last longer than a
/// visit may.
class handler_context::visiting_executor {
public:
    visiting_executor(lodgers::place at, asio::execution_context& of)
        : to_(std::make_shared<target const>(target{std::move(at), of}))
    {}

    asio::execution_context& query(asio::execution::context_t) const noexcept { return to_->context; }
    static constexpr asio::execution::blocking_t query(asio::execution::blocking_t) noexcept
    {
        return asio::execution::blocking.never;
    }
    visiting_executor require(asio::execution::blocking_t::never_t) const { return *this; }

    template <class F>
    void execute(F f) const
    {
        lodgers::visit const at(to_->there);
        if (at.who) static_cast<presence&>(*at.who).executor.execute(std::move(f));
    }

    friend bool operator==(visiting_executor const& a, visiting_executor const& b) noexcept { return a.to_ == b.to_; }

private:
    struct target {
        lodgers::place there;
        asio::execution_context& context;
    };
    std::shared_ptr<target const> to_;
};

handler_context::handler_context(
    asio::any_io_executor own, std::optional<asio::any_io_executor> elsewhere, std::shared_ptr<handler_channel> told)
    : own_(std::move(own)), executor_(own_)
{
    if (!elsewhere) return;
    auto& context = asio::query(*elsewhere, asio::execution::context);
    there_ = lodgers::move_in(context,
        std::make_shared<presence>(
            asio::require(*std::move(elsewhere), asio::execution::blocking.never), std::move(told)));
    executor_ = visiting_executor(there_, context);
}

handler_context::~handler_context()
{
    if (!there_.home) return;
    lodgers::visit const last(there_, lodgers::purpose::move_out);
    if (last.who) static_cast<presence&>(*last.who).told.reset();
}

void handler_context::keep_busy(bool on)
{
    busy_.reset();
    if (on) busy_ = asio::prefer(own_, asio::execution::outstanding_work.tracked);
}

} // namespace quern::detail
