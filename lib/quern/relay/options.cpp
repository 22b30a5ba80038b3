#include <quern/core/detail/text/characters.hpp>
#include <quern/relay/detail/key_files.hpp>
#include <quern/relay/relay.hpp>
#include <quern/sqs/limits.hpp>

#include <algorithm>
#include <utility>

namespace quern::relay {

using namespace quern::detail;
namespace {

bool is_named(header_template const& header, std::string_view name)
{
    return text::equal_ignoring_case(header.name, name);
}

std::optional<failure> problem_of(oauth2_options const& o)
{
    auto const wrong = [](char const* what) { return failure(errc::invalid_option, what); };
    if (o.token_url.host.empty()) return wrong("oauth2 needs a token_url");
    if (!o.token_url.tls && !net::is_this_machine(o.token_url.host))
        return wrong("oauth2: token_url must be https: whoever reads the secret gets tokens");
    if (o.client_id.empty()) return wrong("oauth2 needs a client_id");
    if (o.secret.empty() == o.secret_file.empty()) return wrong("oauth2 needs a secret, or a secret_file");
    if (o.timeout < std::chrono::milliseconds(1) || o.timeout > std::chrono::minutes(5))
        return wrong("oauth2: timeout must be from 1 ms to 5 min");
    return {};
}

} // namespace

std::optional<failure> relay_options::validate() const
{
    if (auto wrong = request.validate()) return wrong;
    if (auto wrong = batches ? request.validate_for_batches() : std::nullopt) return wrong;
    auto const wrong = [](char const* what) { return failure(errc::invalid_option, what); };
    if (timeout < std::chrono::milliseconds(1) || timeout > sqs::max_visibility)
        return wrong("timeout must be from 1 ms to 12 h");
    bool const is_signed = !secret_files.empty() || !ed25519_files.empty();
    if (batches && is_signed)
        return wrong(
            "a batch cannot be signed: Standard Webhooks signs one id, and no id stands for several messages");
    if (batches && reply) return wrong("the answer to a batch is no reply: it says which messages have failed");
    for (auto const& header : request.extra)
        if (is_signed && (is_named(header, "webhook-timestamp") || is_named(header, "webhook-signature")))
            return wrong("a signed request gets its headers webhook-timestamp and webhook-signature here; take them "
                         "from the headers, or leave the secret file out");
    if (!bearer_file.empty() + !basic_file.empty() + oauth2.has_value() > 1)
        return wrong("bearer_file, basic_file and oauth2 each make the header Authorization; leave all but one out");
    if (auto bad = oauth2 ? problem_of(*oauth2) : std::nullopt) return bad;
    if (outcome.success.is_empty() && outcome.lines.empty())
        return wrong("success names no status: nothing would ever be done");
    return {};
}

result<request_keys> read_keys(relay_options const& o)
{
    return detail::key_files(o).read();
}

std::function<std::string(delivery const&)> dependency_by(text_template by, queue_name from)
{
    return [by = std::move(by), from = std::move(from)](delivery const& d) {
        auto name = by.fill({d.message(), from});
        return name ? std::move(*name) : std::string();
    };
}

std::vector<std::string> system_attributes_for(request_options const& o)
{
    if (o.format == body_format::lambda) return {"All"};
    std::vector<std::string> out{
        "SentTimestamp", "MessageGroupId", "MessageDeduplicationId", "SequenceNumber", "AWSTraceHeader"};
    if (std::ranges::find(o.headers, header_set::sqsd) != o.headers.end()) out.push_back("SenderId");
    return out;
}

} // namespace quern::relay
