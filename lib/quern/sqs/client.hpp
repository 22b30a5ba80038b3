#pragma once

#include <quern/aws/credentials.hpp>
#include <quern/aws/retry.hpp>
#include <quern/core/clock.hpp>
#include <quern/net/client.hpp>
#include <quern/sqs/api.hpp>
#include <quern/sqs/endpoint.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <memory>
#include <optional>

namespace quern::sqs {

struct client_options {
    endpoint_choice where; ///< region and URL; from the environment or the profile when left open
    std::string profile;   ///< of the shared config file; empty: AWS_PROFILE, then "default"
    std::shared_ptr<aws::credentials_provider> credentials; ///< null: found by aws::credential_chain, and renewed
    net::client_options connections;                        ///< limits, idle time, CA bundle, proxy
    aws::retry_options retries;
    std::chrono::milliseconds request_timeout{10'000}; ///< of each attempt in all, other than a ReceiveMessage
    /// A ReceiveMessage may take its wait time (20 s when it names none: the queue's own may be that long) and this:
    /// for the way there and back and an answer of up to ten messages.
    std::chrono::milliseconds receive_slack{5'000};
    bool verify_checksums = true; ///< compare the service's MD5 digests: damage does not get past us

    /// The first setting that cannot work, by name.
    std::optional<failure> validate() const;
};

/// SQS over HTTP. ReceiveMessage uses the data lane's connections, everything else those of the control lane, so that a
/// delete never waits behind a long poll.
///
/// Requests  that break a limit of the service (limits.hpp) fail with errc::invalid_request and are not sent.
/// Endpoint  all requests go there, whatever the host in a queue URL: that one names the queue to the service and
///           nothing to the client, as in botocore.
/// Retries   see aws::json_service. A request that met a dead kept-alive connection is sent again, but for what would
///           take effect twice: ReceiveMessage, and messages without a deduplication id.
/// Digests   of messages sent: errc::checksum_mismatch, in a batch a failed entry (failures.hpp); of messages received:
///           receive_message_response::damaged.
/// Lifetime  the state outlives the object until the last operation has ended; destroying it ends them with
///           errc::stopped.
/// Threads   one strand: that of the executor given, also for destruction. From another thread spawn the operation there:
///           asio::co_spawn(strand, sqs.send_message(request), asio::use_future).
class client final : public api {
public:
    /// Reads the environment and the shared config file for what the options leave open. Credentials are looked for by the
    /// first operation, which fails with errc::no_credentials where there are none.
    ///
    /// Throws boost::system::system_error when an option is invalid, no region is found, or the CA bundle or the config
    /// file cannot be read. `time` outlives the client and its operations.
    explicit client(boost::asio::any_io_executor, client_options = client_options(), clock& time = real_clock());
    ~client() override;
    client(client const&) = delete;
    client& operator=(client const&) = delete;

    /// Ends every operation under way with errc::stopped and closes all connections.
    void close();

    /// Where its keys come from: another client of the same strand that is given them too looks for none itself. They end
    /// with this client unless they are the program's.
    std::shared_ptr<aws::credentials_provider> credentials() const;

    /// By the Date headers of the answers, read once a minute; within a second of ours it is zero.
    std::chrono::milliseconds clock_offset() const override;

    /// Against connections.data_connections and control_connections. Consumers do, so that none of their polls waits for
    /// a connection; what does not claim uses them all the same.
    lane_claim claim(lane_places) override;

    net::endpoint const& endpoint() const;
    net::client_counters const& counters() const;

    answer<send_message_response> send_message(send_message_request) override;
    answer<send_message_batch_response> send_message_batch(send_message_batch_request) override;
    answer<receive_message_response> receive_message(receive_message_request) override;
    answer<empty_response> delete_message(delete_message_request) override;
    answer<delete_message_batch_response> delete_message_batch(delete_message_batch_request) override;
    answer<empty_response> change_message_visibility(change_message_visibility_request) override;
    answer<change_message_visibility_batch_response> change_message_visibility_batch(
        change_message_visibility_batch_request) override;

    answer<queue_url_response> create_queue(create_queue_request) override;
    answer<empty_response> delete_queue(delete_queue_request) override;
    answer<empty_response> purge_queue(purge_queue_request) override;
    answer<queue_url_response> get_queue_url(get_queue_url_request) override;
    answer<queue_urls_response> list_queues(list_queues_request) override;
    answer<attributes_response> get_queue_attributes(get_queue_attributes_request) override;
    answer<empty_response> set_queue_attributes(set_queue_attributes_request) override;
    answer<queue_urls_response> list_dead_letter_source_queues(list_dead_letter_source_queues_request) override;

    answer<empty_response> tag_queue(tag_queue_request) override;
    answer<empty_response> untag_queue(untag_queue_request) override;
    answer<tags_response> list_queue_tags(list_queue_tags_request) override;

    answer<empty_response> add_permission(add_permission_request) override;
    answer<empty_response> remove_permission(remove_permission_request) override;

    answer<task_handle_response> start_message_move_task(start_message_move_task_request) override;
    answer<moved_response> cancel_message_move_task(cancel_message_move_task_request) override;
    answer<list_message_move_tasks_response> list_message_move_tasks(list_message_move_tasks_request) override;

private:
    struct state;
    std::shared_ptr<state> state_;
};

} // namespace quern::sqs
