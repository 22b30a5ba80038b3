#include <quern/broker/detail/session.hpp>

#include <quern/broker/detail/errors.hpp>

#include <utility>

namespace quern::broker {
namespace {

using harm = net::http_turn::harm;

/// Harm that is done to what leaves; the other faults are answers.
harm planted_by(transport_fault what)
{
    switch (what) {
    case transport_fault::dropped_before:
    case transport_fault::dropped_after: return harm::unanswered;
    case transport_fault::half_open: return harm::half_open;
    case transport_fault::truncated: return harm::truncated;
    case transport_fault::slow: return harm::slow;
    case transport_fault::none:
    case transport_fault::throttled:
    case transport_fault::access_denied:
    case transport_fault::server_error: break;
    }
    return harm::none;
}

} // namespace

session::session(server_core& core, net::http_connection& at) : core_(core), at_(at)
{
    if (core_.options.access_log) peer_ = at_.peer();
}

void session::begin()
{
    if (core_.options.access_log) began_ = core_.time.now();
    answer_.clear();
    answer_.request_id = core_.request_ids.uuid();
    operation_ = {};
}

session::gate session::look(net::http_request const& request)
{
    return core_.broker.refuses(request, core_.time.wall()) ? gate::passing : gate::open;
}

net::http_turn session::serve(net::http_request const& request)
{
    begin();
    auto const served = core_.broker.serve(request, core_.base, core_.now(), core_.time.wall(), answer_);
    if (request.method == "HEAD") answer_.body.clear();
    operation_ = served.operation;
    parked_ = served.parked;
    if (served.fault.what != transport_fault::none) ++core_.tallied.faults;
    if (parked_) core_.park(*parked_, *this);
    core_.settle(); // which may deliver what has just been parked

    net::http_turn out;
    out.proven = served.let_in;
    out.later = parked_.has_value();
    out.planted = planted_by(served.fault.what);
    out.latency = served.fault.latency;
    out.bytes_per_second = served.fault.bytes_per_second;
    return out;
}

void session::refuse(net::http_request const&, int status, std::string const& why)
{
    begin();
    write_failure(fail(error::serialization, "The request is no valid HTTP: " + why + "."), answer_);
    answer_.status = status;
}

void session::conclude(net::http_request const& request)
{
    auto const status = answer_.status;
    auto& to = answer_.more_headers;
    to.append("\r\nx-amzn-RequestId: ").append(answer_.request_id);
    if (!answer_.query_error.empty() && !answer_.xml)
        to.append("\r\nx-amzn-query-error: ").append(answer_.query_error);
    if (status >= 400) ++core_.tallied.errors;
    core_.broker.count(operation_, status);
    core_.tallied.request_bytes += request.body.size();
    core_.tallied.answer_bytes += answer_.body.size();
    if (!core_.options.access_log) return;
    access_record line;
    line.peer = peer_;
    line.operation = operation_;
    line.status = status;
    line.error_code = answer_.error_code();
    if (status != 0) line.request_id = answer_.request_id;
    line.took = core_.time.now() - began_;
    line.request_bytes = request.body.size();
    line.answer_bytes = answer_.body.size();
    core_.options.access_log(line);
}

void session::gone(bool hung_up)
{
    auto const poll = std::exchange(parked_, {});
    if (poll) core_.abandon(*poll, hung_up && core_.options.cancel_polls_on_disconnect);
}

void session::deliver(result<sqs::receive_message_response> const& messages)
{
    parked_.reset();
    front_end::finish_poll(messages, answer_);
    if (core_.stopping()) answer_.keep_alive = false;
    at_.ready();
}

} // namespace quern::broker
