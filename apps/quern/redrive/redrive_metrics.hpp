#pragma once

#include "common/session.hpp"

#include <quern/core/alarm.hpp>
#include <quern/redrive/redriver.hpp>
#include <quern/redrive/run_book.hpp>
#include <quern/services/cloudwatch.hpp>

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <optional>
#include <string>

namespace quern::app {

/// Counts of a run for CloudWatch: SuccessfulRedrives, PoisonPillsIsolated, RedriveFailures and others, of the
/// namespace DLQRedriver and the queue's name. In the embedded format a line at the end; to CloudWatch itself once a
/// minute and at the end, each time what is new. What processes before this one have counted is not counted again.
///
/// Lifetime  the session outlives it.
/// Threads   the session's only one.
class redrive_metrics : public std::enable_shared_from_this<redrive_metrics> {
public:
    /// Null where `form` is empty; else it is emf or cloudwatch. `before`: of the processes before this one.
    static result<std::shared_ptr<redrive_metrics>> open(
        session&, std::string const& form, std::string_view queue_url, redrive::run_book::tally const& before);

    /// The counts as they are now.
    void tell(redrive::report const&);

    /// Completes when the last counts are told. A failure is logged and changes nothing.
    boost::asio::awaitable<void> finish(redrive::report);

private:
    redrive_metrics(session& s, std::string queue);
    boost::asio::awaitable<void> put(redrive::report);

    session& session_;
    std::string const queue_;
    redrive::report told_;
    std::optional<services::cloudwatch> to_; // none: lines
    tick next_at_;
    bool busy_ = false;
    alarm over_;
};

} // namespace quern::app
