#pragma once

#include <quern/consumer/detail/message/ledger.hpp>
#include <quern/consumer/explanation.hpp>
#include <quern/consumer/options.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace quern::detail {

/// A tenant, as long as something of it is here or it was here lately.
struct tenant_in_turn {
    std::string name;
    double weight = 1;
    double clock = 0; // in seconds of handlers
    double takes = 0; // a handler, of late; zero: not known
    std::size_t running = 0;
    std::list<held_ptr> waiting; // a deque would cost each of many tenants half a kilobyte
    bool is_ready = false;
    std::size_t capped = 0;                        // of those that wait
    std::list<tenant_in_turn*>::iterator quiet_at; // where it has nothing here
};

/// Messages that wait for their turn, and whose it is: that of the oldest, or fairly among tenants.
///
/// Start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996): each message moves its tenant's clock on by what a
/// handler takes for that tenant, over its weight, and the tenant whose clock shows least is next. A tenant that has
/// been quiet begins where the others are, so it neither waits for a burst nor makes up for its silence. Unlike a
/// round with quanta it needs no guess of how large a turn should be.
class turns {
public:
    /// Keeps a reference to them.
    explicit turns(consumer_options const&);

    /// A message that comes now may begin before those that wait.
    bool admits(held const&) const;

    void wait(held_ptr);
    held_ptr next(); ///< takes the one whose turn it is, its lease holds; null when none may begin

    std::size_t waiting() const { return waiting_; }

    /// Messages among these that wait for others of their tenant to end, and for no handler.
    std::size_t capped() const { return capped_; }
    bool any_may_begin() const { return is_fair() ? !ready_.empty() : !arrived_.empty(); }
    std::vector<held_ptr> take_waiting(); ///< all, to be given back

    void began(held&);                                ///< to be handled
    void ended(held&, std::chrono::nanoseconds took); ///< its handler
    void not_begun(held& h)
    {
        if (h.in_turn) left(h);
    } ///< it comes again, or is gone: nothing was done for it

    /// The newest messages, `most` at most, of the tenant that has the most waiting, where that is more than half of
    /// all or it is capped: nobody else's can be seen behind them.
    std::vector<held_ptr> surplus(std::size_t most);

    /// How long a message that comes now waits for its turn, if it is the last; zero: it is not known.
    std::chrono::nanoseconds expected_wait() const;

    /// The busiest tenants, by the messages that are here.
    std::vector<explanation::tenant_state> busiest(std::size_t most) const;

private:
    using tenant = tenant_in_turn;
    struct earlier {
        bool operator()(tenant const* a, tenant const* b) const
        {
            return a->clock != b->clock ? a->clock < b->clock : a->name < b->name;
        }
    };

    bool is_fair() const { return static_cast<bool>(options_.tenant); }
    bool has_place(tenant const&) const;
    std::string name_of(held const&) const;
    double weight_of(std::string const& name) const;
    tenant& of(held const&);
    void file(tenant&);
    void unfile(tenant& t)
    {
        if (std::exchange(t.is_ready, false)) ready_.erase(&t);
    }
    void left(held&);
    void look_for_quiet(tenant&);
    double cost(tenant const&) const;
    static held_ptr first_alive(std::list<held_ptr>&, bool newest, std::size_t& waiting);

    consumer_options const& options_;

    std::deque<held_ptr> arrived_; // where nobody has a tenant
    std::unordered_map<std::string, std::unique_ptr<tenant>> tenants_;
    std::set<tenant*, earlier> ready_; // a message of theirs waits, and may begin
    std::list<tenant*> quiet_;         // the one that was here last stands last
    std::size_t waiting_ = 0, running_ = 0, capped_ = 0;
    double clock_ = 0; // of the last that began
    double takes_ = 0; // a handler of anybody's
};

} // namespace quern::detail
