#pragma once

#include <quern/broker/detail/agenda.hpp>
#include <quern/sqs/types.hpp>

#include <boost/intrusive/list.hpp>

#include <cstdint>
#include <utility>

namespace quern::broker {

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

} // namespace quern::broker
