#pragma once

#include <quern/broker/detail/services.hpp>
#include <quern/broker/detail/stored_message.hpp>
#include <quern/broker/detail/tenant_noise.hpp>

#include <memory>
#include <random>

namespace quern::broker::detail {

/// Which message of a queue is received next. Told of every message that enters, leaves or changes its state;
/// each call O(log n) or better.
class delivery_order {
public:
    virtual ~delivery_order() = default;

    virtual void entered(stored_message&) = 0;
    virtual void left(stored_message&) = 0;
    virtual void changed(stored_message&, message_state before) = 0;

    /// The next message that a receive may have, or nullptr.
    virtual stored_message* first() = 0;

    /// To be asked before `taken` changes: the message that the same receive should have after it, if any is
    /// preferred over first().
    virtual stored_message* follower(stored_message& taken) = 0;
};

/// Standard queues: by stored_message::order, wherever a message comes from.
///
/// Fair queues: messages without a group id have no tenant. The messages of a noisy tenant (tenant_noise) wait until
/// no other tenant has any, then those of the tenant with fewest in flight come first.
class standard_order final : public delivery_order {
public:
    /// `with` knows the time and outlives it; `seed` is for what is drawn.
    standard_order(services const& with, std::uint64_t seed);
    ~standard_order() override;
    void entered(stored_message&) override;
    void left(stored_message&) override;
    void changed(stored_message&, message_state before) override;
    stored_message* first() override;
    stored_message* follower(stored_message&) override { return nullptr; }

private:
    struct tenant;
    struct tenants;
    tenant& tenant_of(stored_message&);
    bool noisy(tenant&);
    void count(tenant&, int in_flight);
    void show(stored_message&);
    void hide(stored_message&);

    services const& with_;
    std::unique_ptr<tenants> tenants_;
    busy_time all_; // of the tenants, and of what has none while there are tenants
    std::mt19937_64 random_;
};

/// FIFO queues: as many as possible of one group, then those of the group that has been ready longest. A message that
/// is not visible blocks those after it in its group, not those before it.
class fifo_order final : public delivery_order {
public:
    fifo_order();
    ~fifo_order() override;
    void entered(stored_message&) override;
    void left(stored_message&) override;
    void changed(stored_message&, message_state before) override;
    stored_message* first() override;
    stored_message* follower(stored_message&) override;

private:
    struct group;
    struct groups;
    void update(group&);

    std::unique_ptr<groups> groups_;
};

} // namespace quern::broker::detail
