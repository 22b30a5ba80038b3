#pragma once

#include <span>
#include <string_view>

namespace quern::fuzz {

/// A reader of bytes that come from outside. It takes any bytes: a crash, a sanitizer's report and a broken promise
/// (see must()) are findings.
struct target {
    std::string_view name; ///< of `./dev fuzz NAME`, and of its folder in tests/fuzz/corpus
    void (*run)(std::string_view bytes);
};

/// Every target, by name.
std::span<target const> targets();

/// Null when there is none of that name.
target const* find(std::string_view name);

/// Ends the process when a promise is broken, having said which.
void must(bool kept, char const* promise);

// The targets, by the file they stand in.

// text.cpp
void base64(std::string_view);
void dates(std::string_view);
void hex(std::string_view);
void json_look(std::string_view);
void json_text(std::string_view);
void xml(std::string_view);

// http.cpp
void http_answer(std::string_view);
void http_request(std::string_view);
void urls(std::string_view);
void web_hook_request(std::string_view);

// sqs.cpp
void attribute_digests(std::string_view);
void error_answer(std::string_view);
void json_answer(std::string_view);
void retry_after(std::string_view);

// relay.cpp
void lambda_answer(std::string_view);
void relay_request(std::string_view);
void template_text(std::string_view);

// broker.cpp
void broker(std::string_view);
void flag_text(std::string_view);
void form_request(std::string_view);
void json_request(std::string_view);
void receipt_handle(std::string_view);
void signature(std::string_view);

// telemetry.cpp
void trace_context(std::string_view);

// redrive.cpp
void journal(std::string_view);
void redrive(std::string_view);
void saved_message(std::string_view);

// config.cpp
void credentials_json(std::string_view);
void endpoint_rules(std::string_view);
void profile(std::string_view);

// bodies.cpp
void dynamodb_answer(std::string_view);
void idempotency_key(std::string_view);
void native_value(std::string_view);
void s3_pointer(std::string_view);
void sns_envelope(std::string_view);

// queue_rows.cpp
void queue_row(std::string_view);

// settings.cpp
void settings(std::string_view);

} // namespace quern::fuzz
