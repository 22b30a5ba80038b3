#include <quern/services/dynamodb.hpp>

#include <quern/services/detail/call.hpp>
#include <quern/services/detail/dynamodb_wire.hpp>

#include <utility>

namespace quern::services {

namespace asio = boost::asio;

namespace {

aws::detail::json_target target_of_dynamodb()
{
    aws::detail::json_target target;
    target.target_prefix = "DynamoDB_20120810";
    target.query_compatible = false;
    return target;
}

/// A refused condition is what a write answers, too.
template <class Request>
result<typename Request::response> answer_of(Request const& request, detail::reply const& end)
{
    if constexpr (std::is_same_v<typename Request::response, write_response>) {
        if (end.refused && detail::is_refusal(*end.refused)) {
            write_response out;
            out.applied = false;
            out.found = detail::item_in(end.said.body);
            return out;
        }
        return detail::read(end, [](net::response const& said) { return detail::decode_write(said.body); });
    } else {
        return detail::read(end, [&](net::response const& said) { return detail::decode(request, said.body); });
    }
}

} // namespace

aws::retry_options dynamodb_options::usual_retries()
{
    aws::retry_options out;
    out.max_attempts = 4;
    out.transient_base = std::chrono::milliseconds(25);
    return out;
}

dynamodb::dynamodb(asio::any_io_executor ex, dynamodb_options options, clock& time)
    : service_client(
          detail::make_host(std::move(ex), aws::dynamodb_service, std::move(options), target_of_dynamodb(), time))
{}

template <class Request>
dynamodb::answer<Request> dynamodb::carry(Request request)
{
    auto body = detail::encode(request);
    auto read = [request = std::move(request)](detail::reply const& end) { return answer_of(request, end); };
    return detail::call(host_, std::string(Request::operation), std::move(body), std::move(read));
}

template dynamodb::answer<get_item_request> dynamodb::carry(get_item_request);
template dynamodb::answer<put_item_request> dynamodb::carry(put_item_request);
template dynamodb::answer<update_item_request> dynamodb::carry(update_item_request);
template dynamodb::answer<delete_item_request> dynamodb::carry(delete_item_request);
template dynamodb::answer<batch_execute_statement_request> dynamodb::carry(batch_execute_statement_request);
template dynamodb::answer<create_table_request> dynamodb::carry(create_table_request);
template dynamodb::answer<describe_table_request> dynamodb::carry(describe_table_request);
template dynamodb::answer<update_time_to_live_request> dynamodb::carry(update_time_to_live_request);
template dynamodb::answer<describe_time_to_live_request> dynamodb::carry(describe_time_to_live_request);

} // namespace quern::services
