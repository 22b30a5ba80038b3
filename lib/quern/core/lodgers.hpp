#pragma once

#include <boost/asio/execution_context.hpp>
#include <boost/intrusive/list.hpp>

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>

namespace quern::detail {

/// Objects that live in an execution_context, and must not outlive it: coroutines that wait there, sockets and
/// timers. The context owns them; whoever refers to one from elsewhere comes as a visitor, and finds nobody once it
/// has ended.
///
/// Threads  any.
class lodgers {
public:
    class lodger : public boost::intrusive::list_base_hook<> {
    public:
        virtual ~lodger() = default;

    private:
        friend class lodgers;
        std::shared_ptr<lodger> self_; // while it is in the list
    };

    /// The way to a lodger: its context, and in that.
    struct place {
        std::shared_ptr<lodgers> home;
        std::weak_ptr<lodger> who;
    };

    /// Nobody is there once the context has ended.
    static place move_in(boost::asio::execution_context&, std::shared_ptr<lodger>);

    enum class purpose {
        stay,
        move_out, ///< the context owns the lodger no more; it ends with whoever else does
    };

    /// The context does not end while somebody visits. No visit lasts longer than a post.
    class visit {
    public:
        explicit visit(place const&, purpose = purpose::stay);
        visit(visit const&) = delete;
        ~visit();

        /// Null when the context has ended, or the lodger has.
        std::shared_ptr<lodger> who;

    private:
        lodgers& at_;
        bool counts_ = false;
    };

    /// The context ends.
    void end();

private:
    std::mutex lock_;
    boost::intrusive::list<lodger> all_;
    bool ended_ = false;
    std::size_t visitors_ = 0;
    std::condition_variable alone_;
};

} // namespace quern::detail
