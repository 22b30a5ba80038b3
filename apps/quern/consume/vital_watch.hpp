#pragma once

#include "consume/consume_work.hpp"

#include <quern/admin/health.hpp>

#include <boost/asio/awaitable.hpp>

#include <memory>

namespace quern::app {

/// Tells a watchdog whether consumers are alive, by the rule of /livez: a loop that stands still without a reason is
/// not; an outage, a pause and a full house are reasons.
///
/// Threads  the context's only one.
class vital_watch : public std::enable_shared_from_this<vital_watch> {
public:
    explicit vital_watch(consume_work const& all);

    boost::asio::awaitable<bool> alive();
    void end() { all_ = nullptr; } ///< the consumers are about to go

private:
    consume_work const* all_;
    admin::vital_signs signs_;
};

} // namespace quern::app
