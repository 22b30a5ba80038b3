#pragma once

#include <quern/consumer/consumer.hpp>
#include <quern/core/alarm.hpp>
#include <quern/producer/producer.hpp>
#include <quern/redrive/redriver.hpp>

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <unordered_map>
#include <unordered_set>

namespace quern::redrive {

/// The state of a run. Its decisions are plan_for() and run_rule; here they are carried out.
///
/// Where a message is, of those that were received:
///
///     in its handler    its lease is extended
///     hidden_           it is not for us, or stays: hidden until the end of the run
///     awaited_          it failed and comes again soon
///     unconfirmed_      it was sent, and its delete is not confirmed: deleted at its next sight, never sent again
///
/// With a journal, each of these is also in its book, which the next process begins with.
class redriver::state {
public:
    state(boost::asio::any_io_executor ex, sqs::api& api, options o);

    boost::asio::awaitable<result<report>> run();
    void stop();
    report const& so_far() const { return told_; }

private:
    using outcome_of = boost::asio::awaitable<outcome>;

    struct depth {
        std::size_t visible = 0, in_flight = 0, delayed = 0;
        std::chrono::seconds retention{0};
        bool has_policy = false; // of its own: it gives messages away after some receives
    };

    // The end of a send.
    enum class delivered { yes, again, refused, no };
    struct receipt {
        delivered what = delivered::no;
        std::string reason; // of refused
    };

    // A send that may have been done, of which no second copy was counted.
    struct doubt {
        std::string queue, key;
        wall_time since;
    };

    // handling.cpp: one message
    outcome_of handle(delivery&);
    outcome_of send(delivery&, plan, std::string to);
    outcome_of isolate(delivery&, plan);
    outcome_of end_of_send(delivery&, receipt const&);
    outcome_of remove(delivery&);
    boost::asio::awaitable<receipt> deliver(delivery&, sqs::send_message_entry, std::string to, bool paced);
    static bool may_be_there(failure const&);
    receipt judge(failure const&, bool fifo);
    void note_halt(std::optional<std::string> const& why);
    run_rule::turn ask(bool paced, bool again);
    boost::asio::awaitable<run_rule::answer> turn(bool paced, bool again = false);
    boost::asio::awaitable<void> until(tick);
    outcome hide(delivery&);
    outcome leave(delivery&, std::string const& reason);
    outcome again(delivery&);
    std::optional<std::string> destination(sqs::message const&) const;
    producer& producer_for(std::string const& url);
    void say(log_level, std::string_view id, std::string const& text);
    void wake();

    // recording.cpp: the journal; all of it does nothing without one
    [[nodiscard]] std::optional<failure> begin_record();
    void go_on_from_record();
    void note(event_kind, delivery const*, std::function<void(event&)> const& fill = {});
    boost::asio::awaitable<bool> is_kept();
    bool ends_when_broken();
    wall_time service_time() const { return time_.wall() + api_.clock_offset(); }
    run_book::entry const* recorded(std::string_view id) const;
    bool has_recorded_send(std::string_view id) const;
    void record(delivery const&, plan&, std::string const& to);
    std::optional<wall_time> due_of(std::string_view id) const;
    outcome put_off(delivery&, wall_time due);
    void note_sending(delivery const&, sqs::send_message_entry const&, std::string const& to);
    void note_end_of_send(delivery const&, sqs::send_message_entry const&, std::string const& to, wall_time began,
        result<sqs::send_message_response> const&);
    std::optional<doubt> doubt_about(std::string_view id) const;
    bool record_awaits() const;
    void look_for_cancel();
    void end_record();

    // redriver.cpp: the run
    boost::asio::awaitable<std::optional<failure>> prepare();
    boost::asio::awaitable<std::optional<failure>> find_sources();
    sqs::answer<depth> look();
    boost::asio::awaitable<void> watch(consumer&, std::optional<result<drain_report>> const& end);
    boost::asio::awaitable<bool> is_empty(consumer const&);
    boost::asio::awaitable<void> give_back();
    boost::asio::awaitable<std::size_t> show(std::vector<std::string> const& handles);
    bool has_enough() const;
    void end();

    boost::asio::any_io_executor const ex_;
    sqs::api& api_;
    options const o_;
    clock& time_;
    std::mt19937_64 random_;
    plan_policy policy_;
    run_rule rule_;
    report told_;
    consumer* it_ = nullptr;
    alarm news_;
    tick new_at_; // when a message came that was not hidden already
    bool ending_ = false, is_told_to_end_ = false;
    wall_time process_began_{}; // by the service's clock; policy_.began_at is that of the run
    std::map<std::string, std::string, std::less<>> sources_; // "account/name" -> URL
    std::map<std::string, std::unique_ptr<producer>> producers_;
    std::unordered_map<std::string, std::string> hidden_; // id -> receipt handle
    std::unordered_map<std::string, tick> awaited_;       // id -> until when it is waited for
    std::unordered_set<std::string> unconfirmed_;
    std::unordered_map<std::string, doubt> doubts_; // without a journal, which knows its own
    std::unordered_set<std::string> maybe_sent_;    // a send of it may have been done: it has its place in the limit
    std::list<alarm*> waiting_;
    std::uint64_t empty_polls_ = 0; // seen
    std::chrono::seconds retention_{0};
    tick cancel_looked_at_ = tick::min();
    bool is_finished_ = false; // there is nothing left to do
    std::optional<tick> halted_since_;
    std::size_t refused_ = 0;
};

} // namespace quern::redrive
