#include <quern/broker/detail/delivery_order.hpp>
#include <quern/broker/detail/giving_back.hpp>

#include <boost/intrusive/list.hpp>

#include <iterator>
#include <string>
#include <unordered_map>

namespace quern::broker::detail {

namespace bi = boost::intrusive;

struct fifo_order::group : bi::list_base_hook<> {
    std::string id;
    ordered_messages messages; ///< in any state

    bool ready() const { return !messages.empty() && messages.begin()->state == message_state::visible; }
};

struct fifo_order::groups {
    std::unordered_map<std::string, std::unique_ptr<group>> by_id;
    bi::list<group> ready; ///< those whose first message is visible, longest ready first
};

fifo_order::fifo_order() : groups_(std::make_unique<groups>()) {}

fifo_order::~fifo_order()
{
    groups_->ready.clear();
    for (auto& [id, one] : groups_->by_id)
        one->messages.clear();
}

void fifo_order::entered(stored_message& m)
{
    auto& found = groups_->by_id[m.rest().group_id];
    if (!found) {
        found = std::make_unique<group>();
        found->id = m.rest().group_id;
    }
    m.lane = found.get();
    found->messages.insert(found->messages.end(), m); // the newest
    update(*found);
}

void fifo_order::left(stored_message& m)
{
    auto& whose = *static_cast<group*>(m.lane);
    whose.messages.erase(whose.messages.iterator_to(m));
    update(whose);
    if (!whose.messages.empty()) return;
    groups_->by_id.erase(groups_->by_id.find(whose.id));
    give_back_buckets(groups_->by_id);
}

void fifo_order::changed(stored_message& m, message_state)
{
    update(*static_cast<group*>(m.lane));
}

stored_message* fifo_order::first()
{
    return groups_->ready.empty() ? nullptr : &*groups_->ready.front().messages.begin();
}

stored_message* fifo_order::follower(stored_message& taken)
{
    auto& whose = *static_cast<group*>(taken.lane);
    auto const next = std::next(whose.messages.iterator_to(taken));
    return next != whose.messages.end() && next->state == message_state::visible ? &*next : nullptr;
}

void fifo_order::update(group& one)
{
    if (one.ready() == one.is_linked()) return;
    if (one.ready()) {
        groups_->ready.push_back(one);
    } else {
        groups_->ready.erase(groups_->ready.iterator_to(one));
    }
}

} // namespace quern::broker::detail
