#pragma once

#include <quern/consumer/detail/run/call_queue.hpp>
#include <quern/consumer/detail/run/handler_channel.hpp>
#include <quern/consumer/detail/run/handler_context.hpp>
#include <quern/consumer/detail/run/runner.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace quern::detail {

/// How a handler begins, and how it is told to end: posted to where handlers run, on a strand, and cancelled there.
///
/// Threads  everything on the strand.
class launcher {
public:
    /// `elsewhere`: consumer_options::handler_executor. `tells`: handlers that may have to wait for a thread tell
    /// when they begin.
    launcher(handlers, compact_strand const& own, std::optional<boost::asio::any_io_executor> elsewhere, clock& time,
        bool tells);

    void open(compact_strand to, std::weak_ptr<void> owner, channel_keeper& who);
    void close();
    void attend(held& h) { h.message.kept_by(*channel_, h); }
    void take(std::vector<finished>& into) { channel_->take(into); }
    handlers const& handle() const { return channel_->handle; }

    /// Handlers may have to wait for a thread before they begin.
    bool is_elsewhere() const { return place_.is_elsewhere(); }
    bool may_wait() const { return is_elsewhere() || channel_->handle.call; }
    void keep_busy(bool on) { place_.keep_busy(on); }

    /// Posts a message to its handler, or several to theirs. Requires  its life has begun to run.
    void begin(held_ptr);
    void begin(std::vector<held_ptr>);

    /// A call of one message has come home: what ran it may run another.
    void take_back(std::shared_ptr<handler_run>);
    void let_idle_ones_go() { idle_.clear(); }

    /// True when its handler had not begun, and now never will: it comes home.
    bool call_off(held&);

    /// Has the handler cancelled where it runs, once all messages of its call say so. `is_new`: this one says it for
    /// the first time.
    static void tell(held&, bool is_new);
    static void tell_when_all_say_so(std::shared_ptr<handler_run> const&);

private:
    compact_strand handler_strand();
    std::shared_ptr<runner> idle_runner();

    std::shared_ptr<handler_channel> const channel_;
    handler_context place_;
    clock const* const tells_; // null: they need not
    std::shared_ptr<call_queue> const calls_;
    std::vector<compact_strand> const shared_strands_; // of handlers
    std::size_t next_strand_ = 0;                      // of these
    std::vector<std::shared_ptr<runner>> idle_;
};

} // namespace quern::detail
