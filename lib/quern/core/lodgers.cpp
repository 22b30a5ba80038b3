#include <quern/core/lodgers.hpp>

#include <utility>

namespace quern::detail {

namespace asio = boost::asio;

namespace {

/// Hears of the end of its context.
class lodgers_service final : public asio::execution_context::service {
public:
    static asio::execution_context::id id;

    explicit lodgers_service(asio::execution_context& of) : service(of), all(std::make_shared<lodgers>()) {}

    std::shared_ptr<lodgers> const all;

private:
    void shutdown() override { all->end(); }
};

asio::execution_context::id lodgers_service::id;

} // namespace

lodgers::place lodgers::move_in(asio::execution_context& context, std::shared_ptr<lodger> one)
{
    place const out{asio::use_service<lodgers_service>(context).all, one};
    std::lock_guard const own(out.home->lock_);
    if (out.home->ended_) return out;
    out.home->all_.push_back(*one);
    one->self_ = std::move(one);
    return out;
}

lodgers::visit::visit(place const& to, purpose what_for) : at_(*to.home)
{
    std::lock_guard const own(at_.lock_);
    if (at_.ended_) return;
    who = to.who.lock();
    if (!who) return;
    counts_ = true;
    ++at_.visitors_;
    if (what_for != purpose::move_out || !who->self_) return;
    at_.all_.erase(at_.all_.iterator_to(*who));
    who->self_.reset();
}

lodgers::visit::~visit()
{
    if (!counts_) return;
    who.reset();
    std::lock_guard const own(at_.lock_);
    if (--at_.visitors_ == 0) at_.alone_.notify_all();
}

/// Ends each guest, not under the lock: what is destroyed here may visit others.
void lodgers::end()
{
    std::unique_lock own(lock_);
    ended_ = true;
    alone_.wait(own, [this] { return visitors_ == 0; });
    while (!all_.empty()) {
        auto& first = all_.front();
        all_.pop_front();
        auto dropped = std::move(first.self_);
        own.unlock();
        dropped.reset();
        own.lock();
    }
}

} // namespace quern::detail
