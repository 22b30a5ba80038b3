#pragma once

#include <quern/consumer/detail/pipeline.hpp>

namespace quern::test {

/// Ways to private members of the consumer, so that it need not know of the search: an explicit instantiation may
/// name them ([temp.spec.general]).
template <class Tag, auto Member>
struct opened {
    friend constexpr auto door(Tag) { return Member; }
};

#define QUERN_DOOR(tag, member)                                                                                      \
    struct tag {                                                                                                     \
        friend constexpr auto door(tag);                                                                             \
    };                                                                                                               \
    template struct opened<tag, member>;

QUERN_DOOR(context_of, &detail::pipeline::context_)
QUERN_DOOR(settle_of, &detail::pipeline::settle_)
QUERN_DOOR(intake_of, &detail::pipeline::intake_)
QUERN_DOOR(queue_of, &detail::settle_stage::queue_)
QUERN_DOOR(lines_of, &detail::settle_queue::lines_)
QUERN_DOOR(later_of, &detail::settle_queue::later_)
QUERN_DOOR(extending_of, &detail::lease_book::extending_)
QUERN_DOOR(in_order_of, &detail::leases_by_end::in_order_)
QUERN_DOOR(place_of_life, &detail::message_life::at_)
QUERN_DOOR(apart_of, &detail::leases_by_end::apart_)
#undef QUERN_DOOR

/// `through<context_of>(pipeline)`.
template <class Tag, class Object>
auto& through(Object& of)
{
    return of.*door(Tag());
}

} // namespace quern::test
