#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>
#include <quern/relay/letter.hpp>
#include <quern/relay/template.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::relay {

/// Body of a request.
enum class body_format {
    raw,                    ///< the message's body, byte by byte
    sns_message,            ///< what was published to SNS, of a body that is its notification: with its attributes,
                            ///< which places and headers see in place of the queue's; another body goes as it is
    sns,                    ///< a notification of SNS; a body that is one already goes as it is
    cloudevents,            ///< the message's body, with ce- headers (CloudEvents 1.0, binary mode)
    cloudevents_structured, ///< application/cloudevents+json
    lambda,                 ///< the event of Lambda's mapping, a record each message; see lambda_answer.hpp
};

/// Headers that tell of the message.
enum class header_set {
    quern,   ///< Quern-Message-Id, -Receive-Count, -First-Receive-Time, -Sent-Time, -Group-Id, -Queue, -Attr-*;
             ///< Idempotency-Key; the trace headers X-Amzn-Trace-Id and traceparent of the message
    carrier, ///< X-Carrier-Receive-Count, X-Carrier-First-Receive-Time
    sqsd, ///< X-Aws-Sqsd-Msgid, -Queue, -First-Received-At, -Sent-At, -Receive-Count, -Sender-Id, -Path, -Taskname,
          ///< -Scheduled-At, -Attr-*
};

/// A header that is added to each request, in place of one of the same name.
struct header_template {
    std::string name;
    text_template value;

    /// "X-Tenant: {{attr.tenant}}". Refuses a name that is none, and those that say how a request is framed or where
    /// it goes: Host, Content-Length, Transfer-Encoding, Connection and their like.
    ///
    /// Fails with  errc::invalid_option
    [[nodiscard]] static result<header_template> parse(std::string_view line);
    [[nodiscard]] static result<header_template> parse(std::string_view name, std::string_view value);
};

/// Signature in a header, as fterrag/simple-sqsd makes it: the HMAC-SHA256 of method, URL and body, in hexadecimal.
struct plain_signature {
    std::string header; ///< its name; empty: none
    std::string secret;
    std::string url; ///< as the other side knows it
};

struct request_options {
    std::string method = "POST";
    url_template url{};
    body_format format = body_format::raw;
    std::vector<header_set> headers{header_set::quern};
    std::vector<header_template> extra{};

    /// Type of raw and CloudEvents bodies, unless the message has an attribute Body.ContentType.
    std::string content_type = "application/json";

    /// X-Carrier-First-Receive-Time in milliseconds, as carrier sends it whatever its documentation says.
    bool carrier_milliseconds = false;

    plain_signature hmac{};

    /// The attribute beanstalk.sqsd.path of a message takes the place of the URL's path and query, as it does with
    /// the daemon of Elastic Beanstalk. Off: senders do not choose where requests go.
    bool sqsd_path = false;

    /// The first setting that cannot work.
    [[nodiscard]] std::optional<failure> validate() const;

    /// The first setting that cannot work where a request stands for several messages.
    [[nodiscard]] std::optional<failure> validate_for_batches() const;
};

/// Keys that authenticate a request: read again for each, because they change while the program runs.
struct request_keys {
    std::vector<std::string> signing; ///< as signing_key() returns them; empty: not signed so
    std::vector<std::string> ed25519; ///< as ed25519_key() returns them; likewise
    std::string authorization;        ///< "Bearer …"; empty: none
    std::string client_secret;        ///< of oauth2_options::secret_file; no part of a request
};

using header_list = std::vector<std::pair<std::string, std::string>>;

struct hook_request {
    std::string method;
    std::string target; ///< path and query
    header_list headers;
    std::string body;
    std::vector<std::string> left_out; ///< headers that could not be written, and why
};

/// The request of a message, at a time: a signature is that of this attempt.
///
/// Values of headers are printable ASCII; another byte is percent-encoded. A header whose template lacks its value,
/// whose name is none, or that is longer than 4 KiB, is left out.
///
/// Fails with  errc::invalid_request  the URL cannot be made of this message
[[nodiscard]] result<hook_request> make_request(
    letter const&, request_options const&, request_keys const&, wall_time now);

/// The request of several messages at once, in the format lambda: one event with a record each. No header tells of a
/// single message, and nothing is signed, because no id stands for all.
///
/// Fails with  as make_request()
[[nodiscard]] result<hook_request> make_batch_request(
    std::span<letter const>, request_options const&, request_keys const&);

/// The text as a header may carry it: as it is when it is printable ASCII, else with '%' and what is no printable
/// ASCII percent-encoded.
std::string header_value(std::string_view);

} // namespace quern::relay
