#include <quern/core/detail/compact_strand.hpp>

#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>

#include <mutex>
#include <vector>

namespace quern::detail {

namespace asio = boost::asio;

/// Work that waits for its turn. While anything waits or runs, one runner is in the hands of the executor beneath.
class compact_strand::queue : public std::enable_shared_from_this<queue> {
public:
    explicit queue(asio::any_io_executor ex)
        : inner(std::move(ex)), context(asio::query(inner, asio::execution::context)),
          later_(asio::require(inner, asio::execution::blocking.never))
    {}

    void add(task, bool never_blocks);
    bool is_running_here() const;

    asio::any_io_executor const inner;
    asio::execution_context& context;

private:
    /// Destroyed unused when the context ends.
    class runner {
    public:
        explicit runner(std::shared_ptr<queue> of) : of_(std::move(of)) {}
        runner(runner&&) = default;
        ~runner()
        {
            if (of_) of_->abandon();
        }
        void operator()() { std::exchange(of_, nullptr)->run(); }

    private:
        std::shared_ptr<queue> of_;
    };

    /// The strands that run on this thread, one called from within another.
    struct presence {
        explicit presence(queue const& q) : of(q), outer(std::exchange(innermost, this)) {}
        presence(presence const&) = delete;
        ~presence() { innermost = outer; }

        queue const& of;
        presence const* const outer;
        static thread_local presence const* innermost;
    };

    void run();
    void go_on(std::size_t done);
    void abandon();

    asio::any_io_executor const later_; // inner, never at once
    std::mutex lock_;
    std::vector<task> waiting_;
    bool has_runner_ = false, is_abandoned_ = false;
    std::vector<task> running_; // only the runner's
};

thread_local compact_strand::queue::presence const* compact_strand::queue::presence::innermost = nullptr;

bool compact_strand::queue::is_running_here() const
{
    for (auto const* at = presence::innermost; at; at = at->outer) {
        if (&at->of == this) return true;
    }
    return false;
}

void compact_strand::queue::add(task what, bool never_blocks)
{
    {
        std::lock_guard const own(lock_);
        if (is_abandoned_) return;
        waiting_.push_back(std::move(what));
        if (std::exchange(has_runner_, true)) return;
    }
    (never_blocks ? later_ : inner).execute(runner(shared_from_this()));
}

void compact_strand::queue::run()
{
    auto const self = shared_from_this(); // the last function may let go of the strand
    {
        std::lock_guard const own(lock_);
        running_.swap(waiting_);
    }
    struct round {
        queue& of;
        presence const here;
        std::size_t done = 0;
        ~round() { of.go_on(done); }
    } now{*this, presence(*this)};
    while (now.done < running_.size())
        running_[now.done++]();
}

/// Whatever else waits for the context has its turn before the next round.
void compact_strand::queue::go_on(std::size_t done)
{
    constexpr std::size_t usual = 1024;
    std::vector<task> left; // as one has thrown
    for (; done < running_.size(); ++done)
        left.push_back(std::move(running_[done]));
    running_.clear();
    if (running_.capacity() > usual) running_.shrink_to_fit();
    {
        std::lock_guard const own(lock_);
        if (!left.empty()) {
            for (auto& since : waiting_)
                left.push_back(std::move(since));
            waiting_.swap(left);
        }
        has_runner_ = !waiting_.empty();
        if (!has_runner_) return;
    }
    later_.execute(runner(shared_from_this()));
}

/// Nothing of this strand will ever run again; and what waits may keep the strand itself alive.
void compact_strand::queue::abandon()
{
    std::vector<task> dropped;
    std::lock_guard const own(lock_);
    is_abandoned_ = true;
    dropped.swap(waiting_);
}

compact_strand compact_strand::on(asio::any_io_executor inner)
{
    return {std::make_shared<queue>(std::move(inner)), false};
}

asio::any_io_executor const& compact_strand::inner() const
{
    return queue_->inner;
}

asio::execution_context& compact_strand::query(asio::execution::context_t) const noexcept
{
    return queue_->context;
}

bool compact_strand::is_running_here() const
{
    return queue_->is_running_here();
}

void compact_strand::enqueue(task what) const
{
    queue_->add(std::move(what), never_blocks_);
}

} // namespace quern::detail
