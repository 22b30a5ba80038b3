#pragma once

#include "relay/cron_schedule.hpp"

#include <quern/core/alarm.hpp>
#include <quern/sqs/api.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace quern::app {

/// A message that is to be sent again and again, as Elastic Beanstalk's daemon does.
struct periodic_task {
    std::string name;
    std::string path; ///< of its request
    cron_schedule when;
};

/// Reads a cron.yaml: under "cron" a list of tasks, each with name, url and schedule. `file` is its name in
/// complaints.
///
/// Fails with  errc::invalid_option  a sentence that names file, line and task
result<std::vector<periodic_task>> read_cron_file(std::string_view document, std::string_view file);

/// The message of a task that was due then.
sqs::send_message_request message_of(periodic_task const&, std::string const& queue_url, wall_time due);

/// Sends the messages of tasks into a queue, each when it is due. Nothing that was due before it began, or while this
/// machine slept, is sent later.
class periodic_sender {
public:
    periodic_sender(boost::asio::any_io_executor, sqs::api&, std::string queue_url, std::vector<periodic_task>);

    boost::asio::awaitable<void> run(); ///< completes some time after end()
    void end();

private:
    sqs::api& sqs_;
    std::string const queue_url_;
    std::vector<periodic_task> const tasks_;
    alarm ended_;
    bool over_ = false;
};

} // namespace quern::app
