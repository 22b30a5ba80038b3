#include <quern/services/dynamodb.hpp>

#include <quern/aws/config/detail/connecting.hpp>
#include <quern/aws/config/files.hpp>
#include <quern/aws/credentials/credential_chain.hpp>
#include <quern/aws/detail/call.hpp>
#include <quern/core/detail/ask.hpp>
#include <quern/core/detail/compact_strand.hpp>
#include <quern/core/lodgers.hpp>
#include <quern/services/detail/dynamodb_wire.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/this_coro.hpp>

#include <exception>
#include <utility>

namespace quern::services {

namespace asio = boost::asio;

namespace {

template <class T>
T or_throw(result<T> found)
{
    if (!found) throw_exception_from_error(found.error(), BOOST_CURRENT_LOCATION);
    return std::move(*found);
}

aws::json_target target_in(std::string region)
{
    aws::json_target target;
    target.region = std::move(region);
    target.service = aws::dynamodb_service.signing_name;
    target.target_prefix = "DynamoDB_20120810";
    target.query_compatible = false;
    return target;
}

aws::chain_options where_keys_are(dynamodb_options const& options, std::string const& region)
{
    aws::chain_options chain;
    chain.profile = options.profile;
    chain.where.region = region;
    chain.where.fips = options.where.fips;
    chain.where.dual_stack = options.where.dual_stack;
    return chain;
}

/// A refused condition is what a write answers, too.
template <class Request>
result<typename Request::response> answer_of(
    Request const& request, result<net::response> const& reply, [[maybe_unused]] std::string const& refused)
{
    if constexpr (std::is_same_v<typename Request::response, write_response>) {
        if (!reply && detail::is_refusal(reply.error())) {
            write_response out;
            out.applied = false;
            out.found = detail::item_in(refused);
            return out;
        }
    }
    if (!reply) return reply.error();
    auto out = detail::decode(request, reply->body);
    if (out) return out;
    auto why = out.error();
    why.http_status = reply->status;
    why.request_id = reply->fields.find("x-amzn-requestid");
    return why;
}

} // namespace

aws::retry_options dynamodb_options::usual_retries()
{
    aws::retry_options out;
    out.max_attempts = 4;
    out.transient_base = std::chrono::milliseconds(25);
    return out;
}

std::optional<failure> dynamodb_options::validate() const
{
    if (request_timeout.count() <= 0 || request_timeout > longest_wait)
        return failure(errc::invalid_option, "request_timeout: must be above zero, and a day at most");
    if (auto const wrong = retries.validate()) return wrong;
    return connections.validate();
}

/// State that is touched on the strand only, and ends with its context.
struct dynamodb::state final : lodgers::lodger {
    state(compact_strand const& on, dynamodb_options good, net::endpoint at, std::string region, clock& real)
        : strand(on), options(std::move(good)), http(on, std::move(at), options.connections),
          service(http, target_in(std::move(region)), options.credentials, real, options.retries)
    {}

    void close()
    {
        http.close();
        service.close();
        if (own_keys) own_keys->close();
    }

    compact_strand const strand;
    dynamodb_options options;
    net::client http;
    aws::json_service service;
    std::shared_ptr<aws::credentials_provider> own_keys; ///< null when they are the user's
};

/// How the object and its operations get to the state: on the strand at once, from elsewhere as visitors.
struct dynamodb::address {
    using purpose = lodgers::purpose;

    address(compact_strand const& on, std::shared_ptr<state> const& lives, std::string in)
        : street(lodgers::of(asio::query(on, asio::execution::context))), who(lives), strand_id(on.id()),
          peer(lives->http.peer()), region(std::move(in)), theirs(lives->service.theirs())
    {
        street->add(lives);
    }

    bool is_here(asio::any_io_executor const& ex) const
    {
        auto const* const strand = ex.target<compact_strand>();
        return strand && strand->id() == strand_id;
    }

    /// Calls f(state) unless that is gone.
    template <class F>
    void visit(F f, purpose what_for = purpose::stay) const
    {
        lodgers::visit at(*street, who, what_for);
        if (at.who) f(std::static_pointer_cast<state>(at.who));
    }

    std::shared_ptr<lodgers> const street;
    std::weak_ptr<state> const who;
    void const* const strand_id;
    net::endpoint const peer;
    std::string const region;
    std::shared_ptr<aws::service_clock const> const theirs;
};

namespace {

/// An operation that is awaited elsewhere, on the strand.
template <class Request>
struct guest {
    explicit guest(Request what) : request(std::move(what)) {}

    Request request;
    asio::cancellation_signal stop; // on the strand
};

/// Spawns the operation on the client's strand; `op` lives as long as it.
template <class Request>
void begin(asio::any_io_executor const& strand, dynamodb::answer<Request> work,
    std::shared_ptr<guest<Request>> const& op, asker<result<typename Request::response>> who)
{
    auto done = [op, who = std::move(who)](std::exception_ptr thrown, result<typename Request::response> said) {
        if (thrown)
            who.fail(std::move(thrown));
        else
            who.tell(std::move(said));
    };
    asio::co_spawn(strand, std::move(work), asio::bind_cancellation_slot(op->stop.slot(), std::move(done)));
}

} // namespace

template <class Request>
dynamodb::answer<Request> dynamodb::from_elsewhere(std::shared_ptr<address const> to, Request request)
{
    using response = typename Request::response;
    auto const op = std::make_shared<guest<Request>>(std::move(request));
    auto go = [to, op](asker<result<response>> who) {
        to->visit([&](std::shared_ptr<state> const& at) {
            asio::post(
                at->strand, [at, to, op, who] { begin(at->strand, on_strand(to, std::move(op->request)), op, who); });
        });
    };
    auto stop = [to, op] {
        to->visit([&](std::shared_ptr<state> const& at) {
            asio::post(at->strand, [op] { op->stop.emit(asio::cancellation_type::terminal); });
        });
    };
    return ask<result<response>>(std::move(go), std::move(stop));
}

template <class Request>
dynamodb::answer<Request> dynamodb::on_strand(std::shared_ptr<address const> to, Request request)
{
    auto const ex = co_await asio::this_coro::executor;
    if (!to->is_here(ex)) {
        auto work = from_elsewhere(std::move(to), std::move(request));
        co_return co_await std::move(work);
    }
    auto const self = to->who.lock();
    if (!self) co_return failure(errc::stopped, "the client is gone");

    std::string refused;
    aws::call_options how;
    how.timeout = self->options.request_timeout;
    how.repeatable = true;
    how.refused = &refused;
    auto body = detail::encode(request);
    auto const reply = co_await self->service.call(Request::operation, std::move(body), how);
    co_return answer_of(request, reply, refused);
}

dynamodb::dynamodb(asio::any_io_executor ex, dynamodb_options options, clock& time)
{
    if (auto const wrong = options.validate()) throw_exception_from_error(*wrong, BOOST_CURRENT_LOCATION);
    auto const* const given = ex.target<compact_strand>();
    auto const strand = given ? *given : compact_strand::on(std::move(ex));
    aws::environment const variables = aws::process_environment;
    auto const config = or_throw(aws::load_shared_config(variables));
    auto const profile =
        aws::settings_of(config, aws::selected_profile(variables, options.profile), aws::dynamodb_service);
    auto const where = or_throw(aws::locate(aws::dynamodb_service, options.where, variables, profile));
    if (where.signing_region.empty()) {
        throw_exception_from_error(
            failure(errc::invalid_option, "region: none is known; set it in the options, or AWS_REGION"),
            BOOST_CURRENT_LOCATION);
    }
    auto at = or_throw(net::parse_endpoint(where.url));
    auto elsewhere = options.connections;
    options.connections = aws::completed(std::move(options.connections), at, variables, profile);
    options.retries = or_throw(aws::completed(options.retries, variables, profile));
    elsewhere.ca_bundle = options.connections.ca_bundle;
    std::shared_ptr<aws::credentials_provider> own_keys;
    if (!options.credentials) {
        options.credentials = own_keys = aws::default_credentials(
            strand, where_keys_are(options, where.signing_region), std::move(elsewhere), time);
    }
    auto const made = std::make_shared<state>(strand, std::move(options), std::move(at), where.signing_region, time);
    made->own_keys = std::move(own_keys);
    address_ = std::make_shared<address const>(strand, made, where.signing_region);
}

dynamodb::~dynamodb()
{
    address_->visit(
        [](auto const& at) { asio::dispatch(at->strand, [at] { at->close(); }); }, lodgers::purpose::move_out);
}

asio::any_io_executor dynamodb::get_executor() const
{
    asio::any_io_executor out;
    address_->visit([&](auto const& at) { out = at->strand; });
    return out;
}

void dynamodb::close()
{
    address_->visit([](auto const& at) { asio::dispatch(at->strand, [at] { at->close(); }); });
}

std::chrono::milliseconds dynamodb::clock_offset() const
{
    return address_->theirs->offset();
}

net::endpoint const& dynamodb::endpoint() const
{
    return address_->peer;
}

std::string const& dynamodb::region() const
{
    return address_->region;
}

dynamodb::answer<get_item_request> dynamodb::get_item(get_item_request r)
{
    return on_strand(address_, std::move(r));
}

dynamodb::answer<put_item_request> dynamodb::put_item(put_item_request r)
{
    return on_strand(address_, std::move(r));
}

dynamodb::answer<update_item_request> dynamodb::update_item(update_item_request r)
{
    return on_strand(address_, std::move(r));
}

dynamodb::answer<delete_item_request> dynamodb::delete_item(delete_item_request r)
{
    return on_strand(address_, std::move(r));
}

dynamodb::answer<batch_execute_statement_request> dynamodb::batch_execute_statement(batch_execute_statement_request r)
{
    return on_strand(address_, std::move(r));
}

dynamodb::answer<create_table_request> dynamodb::create_table(create_table_request r)
{
    return on_strand(address_, std::move(r));
}

dynamodb::answer<describe_table_request> dynamodb::describe_table(describe_table_request r)
{
    return on_strand(address_, std::move(r));
}

dynamodb::answer<update_time_to_live_request> dynamodb::update_time_to_live(update_time_to_live_request r)
{
    return on_strand(address_, std::move(r));
}

dynamodb::answer<describe_time_to_live_request> dynamodb::describe_time_to_live(describe_time_to_live_request r)
{
    return on_strand(address_, std::move(r));
}

} // namespace quern::services
