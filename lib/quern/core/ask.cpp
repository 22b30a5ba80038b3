#include <quern/core/ask.hpp>

namespace quern::detail {

namespace asio = boost::asio;

namespace {

/// Hears of the end of its context.
class absentees_service final : public asio::execution_context::service {
public:
    static asio::execution_context::id id;

    explicit absentees_service(asio::execution_context& of) : service(of), all(std::make_shared<absentees>()) {}

    std::shared_ptr<absentees> const all;

private:
    void shutdown() override { all->end(); }
};

asio::execution_context::id absentees_service::id;

} // namespace

std::shared_ptr<absentees> absentees::of(asio::execution_context& context)
{
    return asio::use_service<absentees_service>(context).all;
}

void absentees::add(std::shared_ptr<entry> one)
{
    std::lock_guard const own(lock_);
    if (ended_) return;
    all_.push_back(*one);
    one->self = one;
}

absentees::departure::departure(absentees& from, entry& one) : from_(from)
{
    std::lock_guard const own(from.lock_);
    if (from.ended_) return;
    from.all_.erase(from.all_.iterator_to(one));
    who = std::move(one.self);
    counted_ = true;
    ++from.departures_;
}

absentees::departure::~departure()
{
    if (!counted_) return;
    who.reset();
    std::lock_guard const own(from_.lock_);
    if (--from_.departures_ == 0) from_.departed_.notify_all();
}

/// What is destroyed here may answer others, or be asked by them: not under the lock.
void absentees::end()
{
    std::unique_lock own(lock_);
    ended_ = true;
    departed_.wait(own, [this] { return departures_ == 0; });
    while (!all_.empty()) {
        auto& first = all_.front();
        all_.pop_front();
        auto dropped = std::move(first.self);
        own.unlock();
        dropped.reset();
        own.lock();
    }
}

} // namespace quern::detail
