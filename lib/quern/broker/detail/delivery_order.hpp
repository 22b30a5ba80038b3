#pragma once

#include <quern/broker/detail/stored_message.hpp>

#include <cstddef>
#include <memory>

namespace quern::broker {

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
/// Fair queues: messages without a group id have no tenant. A tenant is noisy while it has at least 30 messages in
/// flight and more than a tenth of the queue's; its messages wait until no other tenant has any, then those of the
/// tenant with fewest in flight come first (SQS developer guide, fair queues; its rules about processing time are
/// left out).
class standard_order final : public delivery_order {
public:
    standard_order();
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
    bool noisy(tenant const&) const;
    void show(stored_message&);
    void hide(stored_message&);

    std::unique_ptr<tenants> tenants_;
    std::size_t in_flight_ = 0;
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

} // namespace quern::broker
