#pragma once

#include "common/admin_port.hpp"
#include "common/session.hpp"

#include <quern/redrive/redriver.hpp>

#include <memory>
#include <string>

namespace quern::app {

/// The admin port of a redrive: the page of the dead-letter queue's consumer, and the metrics of both.
///
/// Lifetime  shared with the redriver's options. The session outlives it.
/// Threads   the session's only one.
class redrive_door : public std::enable_shared_from_this<redrive_door> {
public:
    /// Listens, and says where. Null when the options name no port.
    static result<std::shared_ptr<redrive_door>> open(session&, admin_options const&, std::string dlq_url);

    /// The observer of the client that the redriver will use.
    std::shared_ptr<sqs::request_observer> of_client() { return port_->numbers().client(); }

    /// Makes a redriver with these options show itself here.
    void watch(redrive::options&);

    /// The counts as they are now. What a dry run would do is not counted.
    void tell(redrive::report const&);

private:
    class counts;

    redrive_door(std::unique_ptr<admin::host>, std::string dlq_url);

    std::string const url_;
    std::unique_ptr<admin::host> const port_;
    std::shared_ptr<observer> const of_consumer_;
    std::shared_ptr<counts> const of_run_;
};

} // namespace quern::app
