#include "target.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace quern::fuzz {

namespace {

constexpr target all[] = {
    {"attribute_digests", attribute_digests},
    {"base64", base64},
    {"broker", broker},
    {"credentials_json", credentials_json},
    {"dates", dates},
    {"dynamodb_answer", dynamodb_answer},
    {"endpoint_rules", endpoint_rules},
    {"error_answer", error_answer},
    {"flag_text", flag_text},
    {"form_request", form_request},
    {"hex", hex},
    {"http_answer", http_answer},
    {"http_request", http_request},
    {"idempotency_key", idempotency_key},
    {"journal", journal},
    {"json_answer", json_answer},
    {"json_look", json_look},
    {"json_request", json_request},
    {"json_text", json_text},
    {"lambda_answer", lambda_answer},
    {"native_value", native_value},
    {"profile", profile},
    {"queue_row", queue_row},
    {"receipt_handle", receipt_handle},
    {"redrive", redrive},
    {"relay_request", relay_request},
    {"retry_after", retry_after},
    {"s3_pointer", s3_pointer},
    {"saved_message", saved_message},
    {"settings", settings},
    {"signature", signature},
    {"sns_envelope", sns_envelope},
    {"template_text", template_text},
    {"trace_context", trace_context},
    {"urls", urls},
    {"web_hook_request", web_hook_request},
    {"xml", xml},
};

} // namespace

std::span<target const> targets()
{
    return all;
}

target const* find(std::string_view name)
{
    auto const at = std::ranges::find(all, name, &target::name);
    return at == std::end(all) ? nullptr : at;
}

void must(bool kept, char const* promise)
{
    if (kept) return;
    std::fprintf(stderr, "broken promise: %s\n", promise);
    std::abort();
}

} // namespace quern::fuzz
