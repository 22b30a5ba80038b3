#pragma once

#include "common/session.hpp"
#include "consume/consume_work.hpp"

#include <quern/admin/picture.hpp>
#include <quern/metrics/collection.hpp>
#include <quern/metrics/replica_advisor.hpp>
#include <quern/services/instance_notice.hpp>
#include <quern/services/task_protection.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace quern::app {

class command;

/// Options about the platform that the program runs on.
struct platform_options {
    bool protect_task = false;
    std::vector<std::string> drain_on_notice; ///< "spot", "rebalance", "scale-in"
    std::optional<std::chrono::milliseconds> target_dwell;
    std::string raise_flag; ///< empty: none
};

/// Adds them to the command. They outlive the reading of the command line.
void add_platform_options(command& to, platform_options&);

/// News between consumers and their platform: ECS has no task ended while it works, a notice of the instance
/// begins an early drain, an autoscaler hears how many are wanted.
///
/// Threads  the context's only one; wanted() any.
class platform_work {
public:
    /// Fails with  errc::invalid_option  something is asked for that is not there
    static result<std::unique_ptr<platform_work>> to(session&, platform_options const&);
    ~platform_work();

    /// The handler, protected while it runs.
    handler wrap(handler) const;
    batch_handler wrap(batch_handler) const;

    /// The observer of that queue's consumer; `next` is told of all too.
    std::shared_ptr<observer> observe(std::string const& url, std::shared_ptr<observer> next);

    /// For the admin port; null: nobody is to tell.
    std::function<admin::wanted_processes()> wanted() const;

    void show(telemetry::source_labels const&, metrics::collection& in) const;

    /// Before the first receive. `drain`: within that time.
    boost::asio::awaitable<void> begin(
        consume_work const&, std::chrono::milliseconds limit, std::function<void(std::chrono::milliseconds)> drain);

    /// Completes when nothing of it needs the consumers any more.
    boost::asio::awaitable<void> end();

private:
    struct station;
    explicit platform_work(std::shared_ptr<station> at) : at_(std::move(at)) {}
    std::shared_ptr<station> at_;
};

} // namespace quern::app
