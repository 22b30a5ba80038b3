#include <quern/core/lodgers.hpp>

#include <utility>

namespace quern {

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

std::shared_ptr<lodgers> lodgers::of(asio::execution_context& context)
{
    return asio::use_service<lodgers_service>(context).all;
}

void lodgers::add(std::shared_ptr<lodger> one)
{
    std::lock_guard const own(lock_);
    if (ended_) return;
    all_.push_back(*one);
    one->self_ = one;
}

lodgers::visit::visit(lodgers& at, std::weak_ptr<lodger> const& whom, purpose what_for) : at_(at)
{
    std::lock_guard const own(at.lock_);
    if (at.ended_) return;
    who = whom.lock();
    if (!who) return;
    counts_ = true;
    ++at.visitors_;
    if (what_for != purpose::move_out || !who->self_) return;
    at.all_.erase(at.all_.iterator_to(*who));
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

} // namespace quern
