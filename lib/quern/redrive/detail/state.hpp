#pragma once

#include <quern/consumer/consumer.hpp>
#include <quern/core/alarm.hpp>
#include <quern/producer/producer.hpp>
#include <quern/redrive/detail/gate.hpp>
#include <quern/redrive/detail/held_messages.hpp>
#include <quern/redrive/detail/recorder.hpp>
#include <quern/redrive/redriver.hpp>

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <unordered_map>

namespace quern::redrive::detail {

/// A run. What is decided, plan_for() and run_rule decide; where each message is, the book of the run knows; here it
/// is carried out.
class redriver_state {
public:
    redriver_state(boost::asio::any_io_executor ex, sqs::api& api, options o);

    boost::asio::awaitable<result<report>> run();
    void stop();
    report const& so_far() const { return told_; }

private:
    using outcome_of = boost::asio::awaitable<outcome>;

    // The end of a send.
    enum class delivered { yes, again, refused, no_place, no };
    struct receipt {
        delivered what = delivered::no;
        std::string reason; // of refused
    };

    run_book const& book() const { return journal_.book(); }

    // handling.cpp: one message
    outcome_of handle(delivery&);
    outcome_of decide(delivery&);
    outcome_of carry_out(delivery&, plan, std::string to);
    outcome_of end_of_send(delivery&, receipt const&);
    outcome_of remove(delivery&);
    boost::asio::awaitable<receipt> deliver(
        delivery&, sqs::send_message_entry, std::string to, bool paced, int counted);
    std::optional<std::string> target_of(sqs::message const&) const;
    std::optional<int> counted_of(sqs::message const&) const;
    receipt judge(failure const&, bool fifo);
    void count(plan const&, std::string const& to);
    outcome hide(delivery&, std::chrono::seconds);
    outcome pass_over(delivery&);
    outcome put_off(delivery&, wall_time due);
    outcome leave(delivery&, std::string const& reason);
    producer& producer_for(std::string const& url);
    void say(log_level, std::string_view id, std::string const& text);

    // run.cpp: all of them
    boost::asio::awaitable<std::optional<failure>> prepare();
    void take_up();
    boost::asio::awaitable<void> watch(consumer&, std::optional<result<drain_report>> const& end);
    boost::asio::awaitable<void> keep_hidden(std::optional<result<drain_report>> const& end);
    boost::asio::awaitable<bool> is_empty(consumer const&);
    boost::asio::awaitable<bool> has_none();
    bool awaits() const;
    bool has_enough() const;
    void look_at_journal();
    void end_unwritable();
    void end();
    void settle_missing();
    void close_book();

    boost::asio::any_io_executor const ex_;
    sqs::api& api_;
    options const o_;
    clock& time_;
    std::mt19937_64 random_;
    plan_policy policy_;
    run_rule rule_;
    report told_;
    alarm news_;
    gate gate_;
    journal in_memory_;
    journal& journal_;
    recorder record_;
    consumer* it_ = nullptr;
    tick new_at_; // when a message came that was not hidden already
    bool is_told_to_end_ = false;
    wall_time process_began_{};     // by the service's clock; policy_.began_at is that of the run
    std::set<std::string> sources_; // their URLs
    std::map<std::string, std::unique_ptr<producer>> producers_;
    std::unordered_map<std::string, std::string> hidden_; // by this process: id -> receipt handle
    detail::held_messages passed_over_;                   // of these, all but what waits until it is due
    alarm keeping_;                                       // ends the pause of keep_hidden()
    bool is_keeping_ = false;
    std::uint64_t empty_polls_ = 0;    // seen
    std::optional<tick> none_since_;   // the queue counts no message
    std::optional<tick> others_since_; // it counts more in flight than this process has hidden
    tick none_at_{};                   // when it was asked for none_since_
    std::chrono::seconds retention_{0};
    bool is_finished_ = false; // there is nothing left to do
    std::size_t refused_ = 0;
};

consumer_options consumer_settings(options const&);

} // namespace quern::redrive::detail
