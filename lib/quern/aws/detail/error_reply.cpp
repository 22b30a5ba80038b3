#include <quern/aws/detail/error_reply.hpp>
#include <quern/core/detail/printable.hpp>
#include <quern/core/simdjson.hpp>

#include <algorithm>
#include <array>

namespace quern::aws::detail {

using namespace quern::detail;

namespace {

namespace od = simdjson::ondemand;

template <std::size_t N>
bool contains(std::array<std::string_view, N> const& names, std::string_view name)
{
    return std::find(names.begin(), names.end(), name) != names.end();
}

/// "com.amazonaws.sqs#QueueDoesNotExist:http://…" is QueueDoesNotExist.
std::string_view shape_name(std::string_view type)
{
    type = type.substr(0, type.find(':'));
    auto const hash = type.find('#');
    return hash == type.npos ? type : type.substr(hash + 1);
}

/// One line of at most 200 bytes of ASCII, for a log.
std::string excerpt(std::string_view text)
{
    constexpr std::size_t limit = 200;
    std::string out;
    for (auto const c : text) {
        if (out.size() == limit) return out + "...";
        bool const printable = c > ' ' && c < '\x7f';
        if (printable)
            out.push_back(c);
        else if (!out.empty() && out.back() != ' ')
            out.push_back(' ');
    }
    return out;
}

/// The part of a message that may be logged: the first line. A refused signature is followed by the whole request as
/// the service saw it, session token included.
std::string_view first_line(std::string_view message)
{
    constexpr std::size_t limit = 2'000;
    return message.substr(0, std::min(message.find('\n'), limit));
}

struct error_body {
    bool is_object = false;
    std::string type, message;
};

/// Takes what can be read and leaves the rest: the answer is an error already.
error_body read(std::string_view body)
{
    error_body out;
    od::parser parser;
    simdjson::padded_string const padded(body);
    od::document document;
    od::object object;
    if (parser.iterate(padded).get(document) || document.get_object().get(object)) return out;
    for (auto member : object) {
        std::string_view name, text;
        od::value value;
        if (member.unescaped_key().get(name) || member.value().get(value)) break;
        out.is_object = true;
        bool const is_type = name == "__type" || (name == "code" && out.type.empty());
        bool const is_message = name == "message" || name == "Message";
        if ((!is_type && !is_message) || value.get_string().get(text)) continue;
        (is_type ? out.type : out.message) = text;
    }
    return out;
}

} // namespace

error_kind classify(int http_status, std::string_view service_code)
{
    // AWS SDKs and tools reference guide, "Retry behavior"; botocore, retries/standard.py.
    static constexpr std::array<std::string_view, 14> throttling{"Throttling", "ThrottlingException",
        "ThrottledException", "RequestThrottledException", "TooManyRequestsException",
        "ProvisionedThroughputExceededException", "TransactionInProgressException", "RequestLimitExceeded",
        "BandwidthLimitExceeded", "LimitExceededException", "RequestThrottled", "SlowDown", "PriorRequestNotComplete",
        "EC2ThrottledException"};
    static constexpr std::array<std::string_view, 2> transient{"RequestTimeout", "RequestTimeoutException"};
    static constexpr std::array<int, 4> unwell{500, 502, 503, 504};
    constexpr int too_many_requests = 429; // of a gateway on the way too, whose code nobody knows
    if (contains(throttling, service_code) || http_status == too_many_requests) return error_kind::throttling;
    bool const is_transient =
        contains(transient, service_code) || std::find(unwell.begin(), unwell.end(), http_status) != unwell.end();
    return is_transient ? error_kind::transient : error_kind::final;
}

bool says_expired_credentials(std::string_view service_code)
{
    static constexpr std::array<std::string_view, 3> codes{
        "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"};
    return contains(codes, service_code);
}

failure decode_error(int http_status, net::headers const& fields, std::string_view body)
{
    auto const said = read(body);
    auto const header_type = fields.find("x-amzn-errortype");
    auto const query_error = fields.find("x-amzn-query-error"); // "code;fault", or not meant for us (as in botocore)
    auto const semicolon = query_error.find(';');
    bool const has_both = semicolon != query_error.npos;
    auto const query_code = has_both ? query_error.substr(0, semicolon) : std::string_view();
    auto const fault = has_both ? query_error.substr(semicolon + 1) : std::string_view();

    failure why(errc::service_error, printable(std::string(first_line(said.message))));
    auto const code = !query_code.empty() ? query_code : shape_name(header_type.empty() ? said.type : header_type);
    why.service_code = printable(std::string(code));
    why.request_id = printable(std::string(fields.find("x-amzn-requestid")));
    why.http_status = http_status;
    why.sender_fault = fault.empty() ? http_status >= 400 && http_status < 500 : fault == "Sender";
    if (why.message.empty() && !said.is_object) why.message = excerpt(body);

    auto const kind = classify(http_status, why.service_code);
    why.retryable = kind != error_kind::final;
    if (kind == error_kind::throttling) why.code = errc::throttled;
    return why;
}

} // namespace quern::aws::detail
