#pragma once

#include <quern/consumer/sns.hpp>
#include <quern/relay/letter.hpp>

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace quern::relay::detail {

// Bodies of requests.

std::string sns_body(letter const&);
std::string cloudevent_body(letter const&, std::string_view content_type);
std::string lambda_body(std::span<letter const>); ///< a record each

/// The body is a notification of SNS already.
bool is_sns_notification(std::string_view body);

/// The message that somebody has published to SNS, out of the notification that is the body of another.
class published {
public:
    explicit published(sqs::message const& notification);

    bool is_there() const { return from_.has_value(); }

    /// With the published text and its attributes, and all else of the notification. A view into this.
    sqs::message const& message() const { return message_; }

private:
    std::optional<sns_envelope> from_;
    std::deque<std::string> decoded_; // of binary attributes
    sqs::message message_;
};

/// The body's type is JSON: "application/json", "application/problem+json; charset=utf-8".
bool is_json_type(std::string_view content_type);

/// "2026-01-02T03:04:05Z" of the time when it was sent; empty when that is not known.
std::string sent_time(letter const&);

} // namespace quern::relay::detail
