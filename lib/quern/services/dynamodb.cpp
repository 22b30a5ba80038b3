#include <quern/services/dynamodb.hpp>

#include <quern/services/detail/dynamodb_wire.hpp>
#include <quern/services/detail/host.hpp>

#include <utility>

namespace quern::services {

namespace asio = boost::asio;

namespace {

aws::json_target target_of_dynamodb()
{
    aws::json_target target;
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
    }
    return detail::read(end, [&](net::response const& said) { return detail::decode(request, said.body); });
}

template <class Request>
dynamodb::answer<Request> answered(Request request, asio::awaitable<result<detail::reply>> work)
{
    auto const end = co_await std::move(work);
    if (!end) co_return end.error();
    co_return answer_of(request, *end);
}

} // namespace

aws::retry_options dynamodb_options::usual_retries()
{
    aws::retry_options out;
    out.max_attempts = 4;
    out.transient_base = std::chrono::milliseconds(25);
    return out;
}

struct dynamodb::inside : detail::host<aws::json_service> {
    using host::host;
};

dynamodb::dynamodb(asio::any_io_executor ex, dynamodb_options options, clock& time)
    : inside_(std::make_unique<inside const>(
          std::move(ex), aws::dynamodb_service, std::move(options), target_of_dynamodb(), time))
{}

dynamodb::~dynamodb() = default;

asio::any_io_executor dynamodb::get_executor() const
{
    return inside_->get_executor();
}

void dynamodb::close()
{
    inside_->close();
}

std::chrono::milliseconds dynamodb::clock_offset() const
{
    return inside_->clock_offset();
}

net::endpoint const& dynamodb::endpoint() const
{
    return inside_->endpoint();
}

std::string const& dynamodb::region() const
{
    return inside_->region();
}

template <class Request>
dynamodb::answer<Request> dynamodb::carry(Request request)
{
    auto body = detail::encode(request);
    auto work = inside_->call(std::string(Request::operation), std::move(body));
    return answered(std::move(request), std::move(work));
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
