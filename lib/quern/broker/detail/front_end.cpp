#include <quern/broker/detail/front_end.hpp>

#include <quern/broker/detail/admin.hpp>
#include <quern/broker/detail/errors.hpp>
#include <quern/broker/detail/query_form.hpp>
#include <quern/broker/detail/wire_encode.hpp>
#include <quern/core/detail/text/utf8.hpp>
#include <quern/net/detail/http_rules.hpp>
#include <quern/sqs/limits.hpp>

#include <algorithm>
#include <type_traits>

namespace quern::broker::detail {

using namespace quern::detail;

namespace {

constexpr std::string_view target_prefix = "AmazonSQS.";

/// Request and response of a member function of the engine.
template <class F>
struct signature;
template <class Response, class Request>
struct signature<result<Response> (engine::*)(Request, instant)> {
    using request = std::remove_cvref_t<Request>;
    using response = Response;
};

/// The engine's urls start with base_url; the caller shall see the origin by which it reached us.
void rebase(std::string& url, std::string_view base, std::string const& origin)
{
    if (std::string_view(url).starts_with(base)) url.replace(0, base.size(), origin);
}
void rebase(sqs::queue_url_response& r, std::string_view base, std::string const& origin)
{
    rebase(r.queue_url, base, origin);
}
void rebase(sqs::queue_urls_response& r, std::string_view base, std::string const& origin)
{
    for (auto& url : r.queue_urls)
        rebase(url, base, origin);
}

/// "eu-west-1", and nothing that would not pass in an ARN.
bool is_region(std::string_view text)
{
    auto const fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
    return !text.empty() && text.size() <= 32 && std::ranges::all_of(text, fits);
}

/// Whether a Referer, if there is one, is a page of that host.
bool is_page_of(std::string_view referer, std::string_view host)
{
    if (referer.empty()) return true;
    auto const scheme = referer.find("://");
    if (scheme == referer.npos) return false;
    auto const behind = referer.substr(scheme + 3);
    return behind.substr(0, behind.find_first_of("/?#")) == host;
}

} // namespace

/// One request on its way through.
struct front_end::call {
    engine& queues;
    wire_decoder& decoder;
    net::detail::http_request const& request;
    std::string_view operation;
    std::string_view body; ///< JSON
    std::string_view listening_at;
    instant now;
    http_answer& answer;

    std::string origin() const
    {
        auto const host = request.fields.find("host");
        if (host.empty()) return std::string(listening_at);
        return (listening_at.starts_with("https:") ? "https://" : "http://") + std::string(host);
    }
};

struct front_end::operation {
    std::string_view name;
    std::optional<poll_id> (*carry_out)(call&);
};

template <auto Operation>
std::optional<poll_id> front_end::carry_out(call& c)
{
    using request_type = typename signature<decltype(Operation)>::request;
    using response = typename signature<decltype(Operation)>::response;

    auto request = c.decoder.decode<request_type>(c.body);
    if (!request) {
        write_failure(request.error(), c.answer);
        return {};
    }
    auto done = (c.queues.*Operation)(std::move(*request), c.now);
    if (!done) {
        write_failure(done.error(), c.answer);
        return {};
    }
    if constexpr (std::is_same_v<response, received>) {
        if (done->parked) return done->parked;
        encode(c.answer.form(c.operation), done->answer, c.answer.body);
    } else {
        constexpr bool has_urls =
            std::is_same_v<response, sqs::queue_url_response> || std::is_same_v<response, sqs::queue_urls_response>;
        if constexpr (has_urls) rebase(*done, c.queues.options().base_url, c.origin());
        encode(c.answer.form(c.operation), *done, c.answer.body);
    }
    return {};
}

front_end::operation const front_end::operations[operation_count] = {
    {"AddPermission", &carry_out<&engine::add_permission>},
    {"CancelMessageMoveTask", &carry_out<&engine::cancel_message_move_task>},
    {"ChangeMessageVisibility", &carry_out<&engine::change_message_visibility>},
    {"ChangeMessageVisibilityBatch", &carry_out<&engine::change_message_visibility_batch>},
    {"CreateQueue", &carry_out<&engine::create_queue>},
    {"DeleteMessage", &carry_out<&engine::delete_message>},
    {"DeleteMessageBatch", &carry_out<&engine::delete_message_batch>},
    {"DeleteQueue", &carry_out<&engine::delete_queue>},
    {"GetQueueAttributes", &carry_out<&engine::get_queue_attributes>},
    {"GetQueueUrl", &carry_out<&engine::get_queue_url>},
    {"ListDeadLetterSourceQueues", &carry_out<&engine::list_dead_letter_source_queues>},
    {"ListMessageMoveTasks", &carry_out<&engine::list_message_move_tasks>},
    {"ListQueueTags", &carry_out<&engine::list_queue_tags>},
    {"ListQueues", &carry_out<&engine::list_queues>},
    {"PurgeQueue", &carry_out<&engine::purge_queue>},
    {"ReceiveMessage", &carry_out<&engine::receive_message>},
    {"RemovePermission", &carry_out<&engine::remove_permission>},
    {"SendMessage", &carry_out<&engine::send_message>},
    {"SendMessageBatch", &carry_out<&engine::send_message_batch>},
    {"SetQueueAttributes", &carry_out<&engine::set_queue_attributes>},
    {"StartMessageMoveTask", &carry_out<&engine::start_message_move_task>},
    {"TagQueue", &carry_out<&engine::tag_queue>},
    {"UntagQueue", &carry_out<&engine::untag_queue>},
};

front_end::front_end(engine_options queues, server_options const& options)
    : queues_(std::move(queues)), local_hosts_only_(net::detail::is_loopback(options.host)), hosts_(options.hosts),
      cors_(options.cors), admin_(options.admin), one_region_(options.one_region), accounts_(options.accounts)
{
    if (!options.check_signatures) return;
    auto const known = [keys = options.keys](std::string_view id) -> std::optional<aws::credentials> {
        auto const at = std::ranges::find(keys, id, &aws::credentials::access_key_id);
        if (at == keys.end()) return {};
        return *at;
    };
    verifier_.emplace(known, options.clock_skew);
}

/// Why nobody's request with these headers is served.
std::optional<failure> front_end::refusal_of_headers(net::detail::http_request const& request) const
{
    static constexpr std::string_view decisive[] = {
        "host", "authorization", "x-amz-target", "x-amz-date", "x-amz-security-token", "x-amz-content-sha256"};
    if (auto const twice = net::detail::repeated_header(request.fields, decisive); !twice.empty())
        return fail(error::serialization, "The header " + std::string(twice) + " may come once only.");
    auto const host = request.fields.find("host");
    if (host.empty() || net::detail::is_local_host(host, hosts_)) return {};
    if (!local_hosts_only_ && (hosts_.empty() || net::detail::is_address(host))) return {};
    return fail(error::access_denied,
        "This broker answers to names of the loopback only, and to those that it was given; \"" + brief(host) +
            "\" has to be allowed (quern broker --allow-host, server_options.hosts).");
}

/// Why the caller is sent away, if so.
std::optional<failure> front_end::identify(net::detail::http_request const& request, wall_time calendar)
{
    if (!verifier_) return {};
    if (request.fields.find("x-amz-content-sha256") == "UNSIGNED-PAYLOAD")
        return fail(error::invalid_signature, "The body of a request to SQS has to be signed.");
    auto const who = verifier_->check(show(request), calendar);
    if (!who) return who.error();
    if (who->service != "sqs")
        return fail(error::invalid_signature, "Credential should be scoped to correct service: 'sqs'.");
    return {};
}

aws::detail::request_view const& front_end::show(net::detail::http_request const& request)
{
    shown_.method = request.method;
    shown_.target = request.target;
    shown_.body = request.body;
    shown_.headers.clear();
    for (std::size_t i = 0; i != request.fields.size(); ++i) {
        auto const [name, value] = request.fields[i];
        shown_.headers.push_back({name, value});
    }
    return shown_;
}

bool front_end::refuses(net::detail::http_request const& request, wall_time calendar)
{
    return refusal_of_headers(request) || (verifier_ && verifier_->refusal_without_body(show(request), calendar));
}

/// Where and for whom names of queues count. Looks at what the request says of itself; identify() has checked it.
caller front_end::caller_of(net::detail::http_request const& request)
{
    caller out;
    auto const trace = request.fields.find("x-amzn-trace-id");
    if (sqs::is_message_text(trace)) out.trace_header = trace;
    auto const claimed = aws::detail::claimed_caller(show(request));
    if (!claimed) return out;
    if (!one_region_ && is_region(claimed->region)) out.region = claimed->region;
    if (auto const at = accounts_.find(claimed->access_key_id); at != accounts_.end()) out.account_id = at->second;
    return out;
}

std::string_view front_end::operation_name(std::size_t index)
{
    return operations[index].name;
}

front_end::operation const* front_end::find(std::string_view name)
{
    auto const at = std::ranges::lower_bound(operations, name, {}, &operation::name);
    return at != std::end(operations) && at->name == name ? at : nullptr;
}

/// Any page in a browser can post a form without asking first, or show a picture from an address, and sign the
/// address with keys that everybody knows. (A JSON request has a header for which a browser asks.) Programs send none
/// of these headers; browsers send Sec-Fetch-Site over https and to the loopback only.
std::optional<failure> front_end::refusal_of_query(net::detail::http_request const& request) const
{
    auto const& fields = request.fields;
    auto const site = fields.find("sec-fetch-site");
    bool const own = site.empty() || site == "none" || site == "same-origin";
    bool const comes_from_here = is_page_of(fields.find("referer"), fields.find("host"));
    if ((own && comes_from_here && fields.find("origin").empty()) || cors_.allows(request)) return {};
    return fail(
        error::access_denied, "Requests of a web page are served where its origin is allowed (quern broker --cors).");
}

/// A look needs no signature, so a page under a name of its own, turned to this address, must not get one.
std::optional<failure> front_end::refusal_of_look(net::detail::http_request const& request) const
{
    auto const site = request.fields.find("sec-fetch-site");
    bool const elsewhere = site == "cross-site" || site == "same-site";
    if (elsewhere && request.fields.find("sec-fetch-mode") != "navigate") // somebody has followed a link
        return fail(error::access_denied, "Looks without a signature are not for pages of other origins.");
    auto const host = request.fields.find("host");
    if (host.empty() || net::detail::is_local_host(host, hosts_)) return {};
    if (!local_hosts_only_ && net::detail::is_address(host)) return {};
    return fail(error::access_denied,
        "Looks without a signature are answered under addresses and names of the loopback only; \"" + brief(host) +
            "\" has to be allowed (quern broker --allow-host, server_options.hosts).");
}

served front_end::serve(net::detail::http_request const& request, std::string_view origin, instant now,
    wall_time calendar, http_answer& answer)
{
    served out;
    auto const refuse = [&](failure const& why) {
        write_failure(why, answer);
        return out;
    };

    if (auto const why = refusal_of_headers(request)) return refuse(*why);
    auto const target = request.fields.find("x-amz-target");
    if (target.empty() && admin_ && is_look(request)) { // before CORS: what needs no signature is for no other page
        answer.more_headers += "\r\nX-Content-Type-Options: nosniff";
        if (auto const why = refusal_of_look(request)) return refuse(*why);
        serve_admin(request, queues_, metrics_, now, answer);
        return out;
    }
    if (cors_.answer(request, answer)) return out;
    if (target.empty() && is_query_call(request)) {
        answer.xml = true;
        answer.content_type = "text/xml";
        if (auto const why = refusal_of_query(request)) return refuse(*why);
        // A form is taken apart for those only who are let in: that makes copies several times as large.
        auto const action = action_of(request);
        auto const* const wanted = find(action);
        if (auto const why = admit(wanted, request, calendar, out)) return refuse(*why);
        if (!wanted) {
            return refuse(
                fail(error::invalid_action, "The action " + brief(action) + " is not valid for this endpoint."));
        }
        auto const asked = read_query_call(request);
        if (!asked) return refuse(asked.error());
        out.parked = serve_operation(*wanted, request, asked->json, origin, now, out, answer);
        return out;
    }
    if (target.empty()) {
        if ((request.method == "GET" || request.method == "HEAD") && request.target == "/health") {
            answer.content_type = "text/plain";
            answer.body = "ok\n";
            return out;
        }
        return refuse(fail(error::invalid_action,
            "No operation is named: neither by X-Amz-Target, as in the JSON protocol, nor by Action, as in the query "
            "protocol."));
    }
    auto const* const wanted =
        target.starts_with(target_prefix) ? find(target.substr(target_prefix.size())) : nullptr;
    if (!wanted) return refuse(fail(error::invalid_action, "There is no operation " + brief(target) + "."));
    if (auto const why = admit(wanted, request, calendar, out)) return refuse(*why);
    out.parked = serve_operation(*wanted, request, request.body, origin, now, out, answer);
    return out;
}

/// Counts the request, and finds out why its caller is sent away, if so.
std::optional<failure> front_end::admit(
    operation const* wanted, net::detail::http_request const& request, wall_time calendar, served& out)
{
    if (wanted) {
        ++requests_[static_cast<std::size_t>(wanted - operations)];
        out.operation = wanted->name;
    }
    return identify(request, calendar);
}

std::optional<poll_id> front_end::serve_operation(operation const& wanted, net::detail::http_request const& request,
    std::string_view body, std::string_view origin, instant now, served& out, http_answer& answer)
{
    auto const refuse = [&](failure const& why) {
        write_failure(why, answer);
        return std::optional<poll_id>();
    };
    out.let_in = true;

    out.fault = queues_.faults().on_request(wanted.name);
    switch (out.fault.what) {
    case transport_fault::throttled: return refuse(fail(error::request_throttled, "Rate exceeded"));
    case transport_fault::access_denied:
        return refuse(fail(error::access_denied, "Access to the resource is denied."));
    case transport_fault::dropped_before: return {};
    case transport_fault::server_error:
        if (out.fault.http_status == 503)
            return refuse(fail(error::service_unavailable, "The service is not available. Try again."));
        if (++html_pages_ % 2 == 0) return refuse(fail(error::internal_failure, "An internal failure occurred."));
        // A load balancer before the service knows nothing of JSON; clients have to cope.
        answer.status = 500;
        answer.content_type = "text/html";
        answer.body = "<html><body><h1>500 Internal Server Error</h1></body></html>\n";
        return {};
    default: break;
    }
    queues_.set_caller(caller_of(request));
    call c{queues_, decoder_, request, wanted.name, body, origin, now, answer};
    return wanted.carry_out(c);
}

void front_end::finish_poll(result<sqs::receive_message_response> const& messages, http_answer& answer)
{
    if (!messages) return write_failure(messages.error(), answer);
    encode(answer.form("ReceiveMessage"), *messages, answer.body);
}

void write_failure(failure const& why, http_answer& answer)
{
    auto const* known = find_error(why.service_code);
    auto const& shape = known ? *known : shape_of(error::internal_failure);
    auto const text = text::valid_utf8(why.message); // others make failures too, of what they were sent
    answer.status = shape.http_status;
    answer.query_error.assign(shape.query_code).append(shape.sender_fault() ? ";Sender" : ";Receiver");
    if (answer.xml) {
        auto const type = shape.sender_fault() ? "Sender" : "Receiver";
        encode_xml_error(type, shape.query_code, text, answer.request_id, answer.body);
    } else {
        encode_error(shape.json_type(), text, answer.body);
    }
}

} // namespace quern::broker::detail
