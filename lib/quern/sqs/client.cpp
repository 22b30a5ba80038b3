#include <quern/sqs/client.hpp>

#include <quern/aws/config/detail/connecting.hpp>
#include <quern/aws/credentials/credential_chain.hpp>
#include <quern/aws/detail/call.hpp>
#include <quern/core/detail/strand_home.hpp>
#include <quern/sqs/detail/checksums.hpp>
#include <quern/sqs/detail/decode.hpp>
#include <quern/sqs/detail/encode.hpp>
#include <quern/sqs/detail/failures.hpp>
#include <quern/sqs/detail/request_watch.hpp>
#include <quern/sqs/limits.hpp>

#include <boost/asio/this_coro.hpp>

#include <algorithm>

namespace quern::sqs {

namespace asio = boost::asio;

namespace {

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

/// State that is touched on the strand only, and ends with its context.
struct client::state final : lodgers::lodger {
    state(compact_strand const& on, client_options good, resolved_endpoint where, clock& real)
        : strand(on), time(real), options(std::move(good)), http(on, std::move(where.at), options.connections),
          service(http, target_in(std::move(where.region)), options.credentials, real, options.retries)
    {}

    void close()
    {
        http.close();
        service.close();
        if (own_keys) own_keys->close();
    }

    compact_strand const strand;
    clock& time;
    client_options options;
    net::client http;
    aws::json_service service;
    decoder in;
    std::shared_ptr<aws::credentials_provider> own_keys; ///< null when they are the user's
};

/// The way to the state, and what is known of it without going there.
struct client::address : strand_home<state> {
    explicit address(std::shared_ptr<state> const& lives)
        : strand_home(lives), peer(lives->http.peer()), theirs(lives->service.theirs()),
          lanes(std::make_shared<lane_ledger>(lane_places{
              lives->options.connections.data_connections, lives->options.connections.control_connections}))
    {}

    net::endpoint const peer;
    std::shared_ptr<aws::service_clock const> const theirs;
    std::shared_ptr<lane_ledger> const lanes;
};

/// An operation under way. What is the same for all of them is compiled once.
struct client::errand {
    std::string_view operation;
    std::string body;

    virtual ~errand() = default;
    virtual aws::call_options how(client_options const&) const = 0;
    virtual std::optional<failure> read(decoder&, net::response&, bool verify_checksums) = 0;
};

template <class Request>
struct client::errand_of final : errand {
    Request const request;
    result<typename Request::response> out;

    explicit errand_of(Request what) : request(std::move(what)), out(failure(errc::stopped, "the client is gone"))
    {
        operation = Request::operation;
    }

    aws::call_options how(client_options const& options) const override { return travel(request, options); }

    std::optional<failure> read(decoder& in, net::response& reply, bool verify_checksums) override
    {
        out = in.template read<typename Request::response>(reply.body);
        if (out && verify_checksums) verify_answer(request, out);
        if (out) return {};
        return from(reply, out.error());
    }
};

asio::awaitable<result<void>> client::on_strand(std::shared_ptr<address const> to, std::shared_ptr<errand> one)
{
    auto const ex = co_await asio::this_coro::executor;
    if (!to->is_here(ex)) {
        auto work = from_elsewhere(std::move(to), std::move(one), &client::on_strand);
        co_return co_await std::move(work);
    }
    auto const self = to->find();
    if (!self) co_return failure(errc::stopped, "the client is gone");

    auto how = one->how(self->options);
    request_watch seen(self->options.observer, self->time, one->operation, one->body.size());
    how.attempts = seen.attempts();
    auto reply = co_await self->service.call(one->operation, std::move(one->body), how);
    if (!reply) {
        auto why = refine(reply.error());
        seen.failed(why);
        co_return why;
    }
    if (auto wrong = one->read(self->in, *reply, self->options.verify_checksums)) {
        seen.failed(*wrong);
        co_return std::move(*wrong);
    }
    seen.answered(*reply);
    co_return result<void>();
}

template <class Request>
answer<typename Request::response> client::carry_out(
    std::shared_ptr<address const> to, std::shared_ptr<errand_of<Request>> one)
{
    if constexpr (requires { check(one->request); }) {
        if (auto wrong = check(one->request)) co_return std::move(*wrong);
    }
    one->body = encode(one->request);
    auto work = on_strand(std::move(to), one);
    auto const done = co_await std::move(work);
    if (!done) co_return done.error();
    co_return std::move(one->out);
}

client::client(asio::any_io_executor ex, client_options options, clock& time)
{
    auto const* const given = ex.target<compact_strand>();
    auto const strand = given ? *given : compact_strand::on(std::move(ex));
    options = valid(std::move(options));
    aws::environment const variables = aws::process_environment;
    auto const config = aws::load_shared_config(variables).value();
    auto const profile =
        aws::settings_of(config, aws::selected_profile(variables, options.profile), aws::sqs_service);
    auto where = resolve(options.where, variables, profile).value();
    auto elsewhere = options.connections; // of SQS' neighbours, to which another proxy may lead
    options.connections = aws::completed(std::move(options.connections), where.at, variables, profile);
    options.retries = aws::completed(options.retries, variables, profile).value();
    elsewhere.ca_bundle = options.connections.ca_bundle;
    std::shared_ptr<aws::credentials_provider> own_keys;
    if (!options.credentials) {
        aws::chain_options keys{options.profile};
        keys.where.region = where.region;
        keys.where.fips = options.where.fips;
        keys.where.dual_stack = options.where.dual_stack;
        options.credentials = own_keys =
            aws::default_credentials(strand, std::move(keys), std::move(elsewhere), time);
    }
    auto const made = std::make_shared<state>(strand, std::move(options), std::move(where), time);
    made->own_keys = std::move(own_keys);
    address_ = std::make_shared<address const>(made);
}

client::~client()
{
    if (address_) address_->close(address::purpose::move_out);
}

client& client::operator=(client&& from) noexcept
{
    client moved(std::move(from));
    std::swap(address_, moved.address_);
    return *this;
}

void client::close()
{
    address_->close();
}

asio::any_io_executor client::get_executor() const
{
    return address_->strand();
}

std::shared_ptr<aws::credentials_provider> client::credentials() const
{
    std::shared_ptr<aws::credentials_provider> out;
    address_->visit([&](auto const& at) { out = at->options.credentials; });
    return out;
}

std::chrono::milliseconds client::clock_offset() const
{
    return address_->theirs->offset();
}

lane_claim client::claim(lane_places wanted)
{
    return address_->lanes->claim(wanted);
}

net::endpoint const& client::endpoint() const
{
    return address_->peer;
}

net::client_counters client::counters() const
{
    net::client_counters out;
    address_->visit([&](auto const& at) { out = at->http.counters(); });
    return out;
}

template <class Request>
answer<typename Request::response> client::carry(Request request)
{
    return carry_out(address_, std::make_shared<errand_of<Request>>(std::move(request)));
}

/// The client for those who may be there longer than it.
class client::visitor final : public forwarding_api<visitor> {
public:
    explicit visitor(std::shared_ptr<address const> of) : of_(std::move(of)) {}

    std::chrono::milliseconds clock_offset() const override { return of_->theirs->offset(); }
    lane_claim claim(lane_places wanted) override { return of_->lanes->claim(wanted); }
    std::shared_ptr<api> share() const override { return std::make_shared<visitor>(of_); }

    template <class Request>
    answer<typename Request::response> carry(Request request)
    {
        return carry_out(of_, std::make_shared<errand_of<Request>>(std::move(request)));
    }

private:
    std::shared_ptr<address const> const of_;
};

std::shared_ptr<api> client::share() const
{
    return std::make_shared<visitor>(address_);
}

template class forwarding_api<client>;

} // namespace quern::sqs
