#include <quern/sqs/client.hpp>

#include <quern/aws/call.hpp>
#include <quern/aws/connecting.hpp>
#include <quern/aws/credential_chain.hpp>
#include <quern/sqs/checksums.hpp>
#include <quern/sqs/decode.hpp>
#include <quern/sqs/encode.hpp>
#include <quern/sqs/failures.hpp>
#include <quern/sqs/limits.hpp>

#include <algorithm>
#include <stdexcept>

namespace quern::sqs {
namespace {

template <class T>
T or_throw(result<T> found)
{
    if (!found) throw_exception_from_error(found.error(), BOOST_CURRENT_LOCATION);
    return std::move(*found);
}

client_options valid(client_options options)
{
    if (auto const wrong = options.validate()) throw_exception_from_error(*wrong, BOOST_CURRENT_LOCATION);
    return options;
}

aws::json_target target_in(std::string region)
{
    aws::json_target target;
    target.region = std::move(region);
    return target;
}

aws::chain_options where_keys_are(client_options const& options, std::string const& region)
{
    aws::chain_options chain;
    chain.profile = options.profile;
    chain.where.region = region;
    chain.where.fips = options.where.fips;
    chain.where.dual_stack = options.where.dual_stack;
    return chain;
}

/// Whether carrying the request out twice is the same as once; see the class's "Retries".
template <class Request>
bool harmless_twice(Request const&)
{
    return true;
}
bool harmless_twice(send_message_request const& r)
{
    return r.deduplication_id.has_value();
}
bool harmless_twice(send_message_batch_request const& r)
{
    return std::ranges::all_of(r.entries, [](auto const& entry) { return entry.deduplication_id.has_value(); });
}
bool harmless_twice(purge_queue_request const&)
{
    return false; // messages sent in between
}
bool harmless_twice(start_message_move_task_request const&)
{
    return false; // refused: a task is running already
}

template <class Request>
aws::call_options travel(Request const& request, client_options const& options)
{
    aws::call_options how;
    how.timeout = options.request_timeout;
    how.repeatable = harmless_twice(request);
    return how;
}

aws::call_options travel(receive_message_request const& request, client_options const& options)
{
    aws::call_options how;
    how.via = net::lane::data;
    how.timeout = request.wait_time.value_or(max_wait_time) + options.receive_slack;
    how.long_poll = true;
    how.repeatable = false; // messages of the first one would stay invisible
    return how;
}

template <class Request, class Response>
void verify_answer(Request const& request, result<Response>& answer)
{
    if constexpr (requires { verify(request, *answer); }) verify(request, *answer);
}
void verify_answer(send_message_request const& request, result<send_message_response>& answer)
{
    if (auto wrong = verify(request, *answer)) answer = std::move(*wrong);
}
void verify_answer(receive_message_request const&, result<receive_message_response>& answer)
{
    verify(*answer);
}

failure from(net::response const& reply, failure why)
{
    why.http_status = reply.status;
    why.request_id = reply.fields.find("x-amzn-requestid");
    return why;
}

} // namespace

std::optional<failure> client_options::validate() const
{
    auto const works = [](std::chrono::milliseconds limit) { return limit.count() > 0 && limit <= longest_wait; };
    if (!works(request_timeout)) {
        return failure(errc::invalid_option, "request_timeout: must be above zero, and a day at most");
    }
    if (!works(receive_slack)) {
        return failure(errc::invalid_option, "receive_slack: must be above zero, and a day at most");
    }
    if (auto const wrong = retries.validate()) return wrong;
    return connections.validate();
}

struct client::state : std::enable_shared_from_this<client::state> {
    state(boost::asio::any_io_executor ex, client_options good, resolved_endpoint where, clock& time)
        : options(std::move(good)), http(std::move(ex), std::move(where.at), options.connections),
          service(http, target_in(std::move(where.region)), options.credentials, time, options.retries)
    {}

    template <class Response, class Request>
    answer<Response> call(std::string_view operation, Request request)
    {
        return call<Response>(shared_from_this(), operation, std::move(request));
    }

    template <class Response, class Request>
    static answer<Response> call(std::shared_ptr<state> self, std::string_view operation, Request request)
    {
        if constexpr (requires { check(request); }) {
            if (auto wrong = check(request)) co_return std::move(*wrong);
        }
        auto const how = travel(request, self->options);
        auto body = encode(request);
        auto reply = co_await self->service.call(operation, std::move(body), how);
        if (!reply) co_return refine(reply.error());

        auto out = self->in.read<Response>(reply->body);
        if (out && self->options.verify_checksums) verify_answer(request, out);
        if (!out) co_return from(*reply, out.error());
        co_return out;
    }

    client_options options;
    net::client http;
    aws::json_service service;
    std::shared_ptr<lane_ledger> const lanes = std::make_shared<lane_ledger>(
        lane_places{options.connections.data_connections, options.connections.control_connections});
    decoder in;
    std::shared_ptr<aws::credentials_provider> own_keys; ///< null when they are the user's
};

client::client(boost::asio::any_io_executor ex, client_options options, clock& time)
{
    options = valid(std::move(options));
    aws::environment const variables = aws::process_environment;
    auto const config = or_throw(aws::load_shared_config(variables));
    auto const profile =
        aws::settings_of(config, aws::selected_profile(variables, options.profile), aws::sqs_service);
    auto where = or_throw(resolve(options.where, variables, profile));
    auto elsewhere = options.connections; // of SQS' neighbours, to which another proxy may lead
    options.connections = aws::completed(std::move(options.connections), where.at, variables, profile);
    options.retries = or_throw(aws::completed(options.retries, variables, profile));
    elsewhere.ca_bundle = options.connections.ca_bundle;
    std::shared_ptr<aws::credentials_provider> own_keys;
    if (!options.credentials) {
        options.credentials = own_keys =
            aws::default_credentials(ex, where_keys_are(options, where.region), std::move(elsewhere), time);
    }
    state_ = std::make_shared<state>(std::move(ex), std::move(options), std::move(where), time);
    state_->own_keys = std::move(own_keys);
}

client::~client()
{
    close();
}

void client::close()
{
    state_->http.close();
    state_->service.close();
    if (state_->own_keys) state_->own_keys->close();
}

std::shared_ptr<aws::credentials_provider> client::credentials() const
{
    return state_->options.credentials;
}

std::chrono::milliseconds client::clock_offset() const
{
    return state_->service.clock_offset();
}

lane_claim client::claim(lane_places wanted)
{
    return state_->lanes->claim(wanted);
}

net::endpoint const& client::endpoint() const
{
    return state_->http.peer();
}

net::client_counters const& client::counters() const
{
    return state_->http.counters();
}

answer<send_message_response> client::send_message(send_message_request request)
{
    return state_->call<send_message_response>("SendMessage", std::move(request));
}

answer<send_message_batch_response> client::send_message_batch(send_message_batch_request request)
{
    return state_->call<send_message_batch_response>("SendMessageBatch", std::move(request));
}

answer<receive_message_response> client::receive_message(receive_message_request request)
{
    return state_->call<receive_message_response>("ReceiveMessage", std::move(request));
}

answer<empty_response> client::delete_message(delete_message_request request)
{
    return state_->call<empty_response>("DeleteMessage", std::move(request));
}

answer<delete_message_batch_response> client::delete_message_batch(delete_message_batch_request request)
{
    return state_->call<delete_message_batch_response>("DeleteMessageBatch", std::move(request));
}

answer<empty_response> client::change_message_visibility(change_message_visibility_request request)
{
    return state_->call<empty_response>("ChangeMessageVisibility", std::move(request));
}

answer<change_message_visibility_batch_response> client::change_message_visibility_batch(
    change_message_visibility_batch_request request)
{
    return state_->call<change_message_visibility_batch_response>("ChangeMessageVisibilityBatch", std::move(request));
}

answer<queue_url_response> client::create_queue(create_queue_request request)
{
    return state_->call<queue_url_response>("CreateQueue", std::move(request));
}

answer<empty_response> client::delete_queue(delete_queue_request request)
{
    return state_->call<empty_response>("DeleteQueue", std::move(request));
}

answer<empty_response> client::purge_queue(purge_queue_request request)
{
    return state_->call<empty_response>("PurgeQueue", std::move(request));
}

answer<queue_url_response> client::get_queue_url(get_queue_url_request request)
{
    return state_->call<queue_url_response>("GetQueueUrl", std::move(request));
}

answer<queue_urls_response> client::list_queues(list_queues_request request)
{
    return state_->call<queue_urls_response>("ListQueues", std::move(request));
}

answer<attributes_response> client::get_queue_attributes(get_queue_attributes_request request)
{
    return state_->call<attributes_response>("GetQueueAttributes", std::move(request));
}

answer<empty_response> client::set_queue_attributes(set_queue_attributes_request request)
{
    return state_->call<empty_response>("SetQueueAttributes", std::move(request));
}

answer<queue_urls_response> client::list_dead_letter_source_queues(list_dead_letter_source_queues_request request)
{
    return state_->call<queue_urls_response>("ListDeadLetterSourceQueues", std::move(request));
}

answer<empty_response> client::tag_queue(tag_queue_request request)
{
    return state_->call<empty_response>("TagQueue", std::move(request));
}

answer<empty_response> client::untag_queue(untag_queue_request request)
{
    return state_->call<empty_response>("UntagQueue", std::move(request));
}

answer<tags_response> client::list_queue_tags(list_queue_tags_request request)
{
    return state_->call<tags_response>("ListQueueTags", std::move(request));
}

answer<empty_response> client::add_permission(add_permission_request request)
{
    return state_->call<empty_response>("AddPermission", std::move(request));
}

answer<empty_response> client::remove_permission(remove_permission_request request)
{
    return state_->call<empty_response>("RemovePermission", std::move(request));
}

answer<task_handle_response> client::start_message_move_task(start_message_move_task_request request)
{
    return state_->call<task_handle_response>("StartMessageMoveTask", std::move(request));
}

answer<moved_response> client::cancel_message_move_task(cancel_message_move_task_request request)
{
    return state_->call<moved_response>("CancelMessageMoveTask", std::move(request));
}

answer<list_message_move_tasks_response> client::list_message_move_tasks(list_message_move_tasks_request request)
{
    return state_->call<list_message_move_tasks_response>("ListMessageMoveTasks", std::move(request));
}

} // namespace quern::sqs
