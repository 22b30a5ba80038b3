#pragma once

#include "service.hpp"

#include <boost/json.hpp>

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace quern::test {

/// An answer as botocore shows it, which is how they were recorded.
boost::json::value as_recorded(failure const&);
boost::json::value as_recorded(sqs::empty_response const&);
boost::json::value as_recorded(sqs::send_message_response const&);
boost::json::value as_recorded(sqs::send_message_batch_response const&);
boost::json::value as_recorded(sqs::batch_response<sqs::done_entry> const&);
boost::json::value as_recorded(sqs::receive_message_response const&);
boost::json::value as_recorded(sqs::attributes_response const&);
boost::json::value as_recorded(sqs::task_handle_response const&);
boost::json::value as_recorded(sqs::moved_response const&);
boost::json::value as_recorded(sqs::list_message_move_tasks_response const&);

template <class T>
boost::json::value as_recorded(quern::result<T> const& outcome)
{
    return outcome ? as_recorded(*outcome) : as_recorded(outcome.error());
}

/// Answers of SQS in one test of the recordings. "<uuid:1>" stands for whatever it stands for first, and from then on
/// for that alone; "timestamp" and the masked parts of an ARN for anything.
class recording {
public:
    explicit recording(boost::json::object const& steps) : steps_(steps) {}

    /// Compares one step. Members in `timing` depend on when SQS was asked and are left out.
    void match(std::string_view step, boost::json::value actual, std::set<std::string> timing = {});

    template <class T>
    void match(std::string_view step, quern::result<T> const& actual, std::set<std::string> timing = {})
    {
        match(step, as_recorded(actual), std::move(timing));
    }

    /// Steps that were not compared.
    std::vector<std::string> left() const;

private:
    bool same(
        boost::json::value const& expected, boost::json::value const& actual, std::set<std::string> const& timing);
    bool same_text(std::string const& expected, std::string const& actual);

    boost::json::object const& steps_;
    std::set<std::string, std::less<>> compared_;
    std::map<std::string, std::string> masks_;
};

using scenario = void (*)(service&, recording&);

/// By the name of the test that was recorded.
std::map<std::string, scenario> message_scenarios();
std::map<std::string, scenario> queue_scenarios();
std::map<std::string, scenario> fifo_scenarios();
std::map<std::string, scenario> move_task_scenarios();

} // namespace quern::test
