#pragma once

#include <quern/broker/detail/agenda.hpp>
#include <quern/broker/detail/delivery_order.hpp>
#include <quern/broker/detail/giving_back.hpp>
#include <quern/broker/detail/message_table.hpp>
#include <quern/broker/detail/recent.hpp>
#include <quern/broker/detail/services.hpp>
#include <quern/broker/detail/settings.hpp>
#include <quern/sqs/types.hpp>

#include <boost/intrusive/list.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace quern::broker::detail {

/// Answer to a deduplicated send.
struct sent_before {
    std::string message_id;
    std::string sequence_number;
};

/// A receive that may be asked for again by its attempt id.
struct attempt {
    struct part {
        std::uint64_t message;
        std::uint64_t receive;
    };
    std::vector<part> parts;
};

class queue;

using in_line_hook = boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// A receive that waits for a message. On the agenda for its deadline, in its queue's line for a message; leaves both
/// by itself when destroyed.
struct parked_poll : timed, in_line_hook {
    parked_poll(std::uint64_t number, queue& where, sqs::receive_message_request what)
        : timed(kind::poll), id(number), home(&where), request(std::move(what))
    {}

    std::uint64_t id;
    queue* home;
    sqs::receive_message_request request;
};

/// First come, first served.
using poll_line = boost::intrusive::list<parked_poll, boost::intrusive::base_hook<in_line_hook>,
    boost::intrusive::constant_time_size<false>>;

/// On the agenda for the moment from which the oldest deduplication or receive attempt id of a queue counts no more.
struct note_watch : timed {
    explicit note_watch(queue& whose) : timed(kind::notes), of(whose) {}
    queue& of;
};

/// The messages of one queue and the states that they are in. Knows no requests and no other queue.
/// On the agenda for the end of the retention period of its oldest message.
class queue : public timed {
public:
    queue(services&, std::string arn, queue_settings, instant now);
    /// One that was kept; the settings are those of its attributes.
    queue(services&, queue_record const&, queue_settings, instant now);
    ~queue();

    // ---- what it is
    std::uint64_t const number;
    std::string const arn;
    std::string const name;        ///< the ARN's last part
    std::int64_t const created_at; ///< s since 1970
    std::int64_t modified_at;
    sqs::string_map tags;
    std::optional<instant> purged_at;
    poll_line polls;
    queue_counts counts;

    queue_settings const& settings() const { return settings_; }
    bool fifo() const { return settings_.fifo; }
    /// Changes what was checked before.
    void set(queue_settings, instant now);

    // ---- how many it has
    std::size_t visible() const { return visible_; }
    std::size_t delayed() const { return delayed_; }
    std::size_t in_flight() const { return messages_.size() - visible_ - delayed_; }

    /// When the retention period of the oldest one began; absent: there is none.
    std::optional<instant> oldest() const
    {
        if (ages_.empty()) return {};
        return ages_.begin()->retained_from;
    }

    // ---- messages
    /// A new message, or one that comes from another queue. Visible after the delay.
    void put(std::unique_ptr<stored_message>, std::chrono::seconds delay, instant now);
    std::unique_ptr<stored_message> take_out(stored_message&);
    /// A message that was kept, in the state that it was in.
    void put_back(std::unique_ptr<stored_message>, message_state, instant until);
    void purge(instant now);

    /// By stored_message::number; nullptr when it is gone.
    stored_message* find(std::uint64_t message) { return messages_.find(message); }
    /// Oldest first, until `use` answers false.
    template <class Use>
    void each(Use use) const
    {
        for (auto const& m : ages_) {
            if (!use(m)) return;
        }
    }
    delivery_order& order() { return *order_; }

    /// A receive begins: in flight, counted.
    void receive(stored_message&, instant until, instant now);
    /// In flight until then.
    void hide(stored_message&, instant until);
    void show(stored_message&);

    /// Drops what the retention period has ended for.
    void drop_expired(instant now);

    // ---- FIFO memory
    std::string deduplication_key(std::string_view group, std::string_view id, instant now) const;
    /// Answer to an earlier send under the same key, or nullptr.
    sent_before* find_sent(std::string_view key, instant now) { return sent_.find(key, now); }
    void note_sent(std::string key, sent_before, instant now);
    /// A note that was kept: later than all others.
    void put_back_sent(std::string key, sent_before, instant until, instant now);
    attempt* find_attempt(std::string_view id, instant now) { return attempts_.find(id, now); }
    void note_attempt(std::string id, attempt, instant now);
    void forget_attempt(std::string_view id) { attempts_.forget(id); }
    void drop_old_notes(instant now);
    std::size_t notes() const { return sent_.size() + attempts_.size(); }

private:
    struct by_age {
        bool operator()(stored_message const& a, stored_message const& b) const
        {
            if (a.retained_from != b.retained_from) return a.retained_from < b.retained_from;
            return a.number < b.number;
        }
    };
    using ages = boost::intrusive::multiset<stored_message, boost::intrusive::base_hook<age_hook>,
        boost::intrusive::compare<by_age>>;

    void enter(std::unique_ptr<stored_message>);
    void enter_state(stored_message&, message_state);
    std::size_t* counter(message_state);
    void watch_oldest();
    void watch_notes(instant now);
    void shrank();

    services& with_;
    queue_settings settings_;
    bool deduplicated_per_group_before_; ///< see deduplication_key
    instant scope_changed_at_;
    std::unique_ptr<delivery_order> order_;
    message_table messages_;
    ages ages_;
    recent<sent_before> sent_;
    recent<attempt> attempts_;
    note_watch watch_{*this};
    high_water most_held_, most_noted_; ///< messages, notes
    std::size_t visible_ = 0;
    std::size_t delayed_ = 0;
};

} // namespace quern::broker::detail
