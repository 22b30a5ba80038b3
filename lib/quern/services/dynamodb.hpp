#pragma once

#include <quern/aws/client_options.hpp>
#include <quern/core/clock.hpp>
#include <quern/services/dynamodb_types.hpp>
#include <quern/services/service_client.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace quern::services {

struct dynamodb_options : aws::client_options {
    dynamodb_options() { retries = usual_retries(); }

    /// As the AWS SDKs have them for DynamoDB: four attempts, the first pause 25 ms.
    static aws::retry_options usual_retries();
};

/// DynamoDB over HTTP, as far as shared state needs it.
///
/// Conditions  that do not hold are answers, see write_response. The item that stood in the way comes with them.
/// Retries     see service_client. A write that met a dead connection, or whose answer never came, is sent again:
///             its condition has to bear that it may meet what it wrote itself.
/// Fails with  as service_client says.
/// Cancellation  terminal, of each call. A write may have been carried out all the same.
class dynamodb final : public service_client {
public:
    /// Throws boost::system::system_error when an option is invalid, no region is found, or the CA bundle or the
    /// config file cannot be read. `time` outlives the client and its operations.
    explicit dynamodb(
        boost::asio::any_io_executor, dynamodb_options = dynamodb_options(), clock& time = real_clock());

    template <class Request>
    using answer = boost::asio::awaitable<result<typename Request::response>>;

    answer<get_item_request> get_item(get_item_request r) { return carry(std::move(r)); }
    answer<put_item_request> put_item(put_item_request r) { return carry(std::move(r)); }
    answer<update_item_request> update_item(update_item_request r) { return carry(std::move(r)); }
    answer<delete_item_request> delete_item(delete_item_request r) { return carry(std::move(r)); }
    answer<batch_execute_statement_request> batch_execute_statement(batch_execute_statement_request r)
    {
        return carry(std::move(r));
    }
    answer<create_table_request> create_table(create_table_request r) { return carry(std::move(r)); }
    answer<describe_table_request> describe_table(describe_table_request r) { return carry(std::move(r)); }
    answer<update_time_to_live_request> update_time_to_live(update_time_to_live_request r)
    {
        return carry(std::move(r));
    }
    answer<describe_time_to_live_request> describe_time_to_live(describe_time_to_live_request r)
    {
        return carry(std::move(r));
    }

private:
    template <class Request>
    answer<Request> carry(Request);
};

} // namespace quern::services
