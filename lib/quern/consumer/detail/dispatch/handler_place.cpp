#include <quern/consumer/detail/dispatch/handler_place.hpp>

#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>

#include <utility>

namespace quern::detail {

namespace asio = boost::asio;

/// The part of a handler_place that lives in the other context, and ends with it at the latest.
struct handler_place::presence final : lodgers::lodger {
    explicit presence(std::shared_ptr<door> to) : told(std::move(to)) {}
    ~presence() override
    {
        if (told) told->place_is_gone();
    }

    std::shared_ptr<door> told; // null: we go first
};

namespace {

/// An executor of a context that may have ended. It never runs a function at once: that would last longer than a
/// visit may.
class visiting_executor {
public:
    visiting_executor(
        std::shared_ptr<lodgers> at, std::weak_ptr<lodgers::lodger> whom, asio::any_io_executor const& ex)
        : to_(std::make_shared<target const>(target{std::move(at), std::move(whom),
              asio::require(ex, asio::execution::blocking.never), asio::query(ex, asio::execution::context)}))
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
        lodgers::visit const at(*to_->there, to_->whom);
        if (at.who) to_->later.execute(std::move(f));
    }

    friend bool operator==(visiting_executor const& a, visiting_executor const& b) noexcept { return a.to_ == b.to_; }

private:
    struct target {
        std::shared_ptr<lodgers> there;
        std::weak_ptr<lodgers::lodger> whom;
        asio::any_io_executor later;
        asio::execution_context& context;
    };
    std::shared_ptr<target const> to_;
};

} // namespace

handler_place::handler_place(
    asio::any_io_executor own, std::optional<asio::any_io_executor> const& elsewhere, std::shared_ptr<door> told)
    : own_(std::move(own)), executor_(own_)
{
    if (!elsewhere) return;
    there_ = lodgers::of(asio::query(*elsewhere, asio::execution::context));
    auto const lives = std::make_shared<presence>(std::move(told));
    presence_ = lives;
    executor_ = visiting_executor(there_, lives, *elsewhere);
    there_->add(lives);
}

handler_place::~handler_place()
{
    if (!there_) return;
    lodgers::visit const last(*there_, presence_, lodgers::purpose::move_out);
    if (last.who) static_cast<presence&>(*last.who).told.reset();
}

void handler_place::keep_busy(bool on)
{
    busy_.reset();
    if (on) busy_ = asio::prefer(own_, asio::execution::outstanding_work.tracked);
}

} // namespace quern::detail
