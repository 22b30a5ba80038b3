#include "endpoint_options.hpp"

namespace quern::app {
namespace {

bool is_amazons(std::string_view host)
{
    return host.find(".amazonaws.") != host.npos || host.ends_with(".api.aws");
}

/// "eu-west-1" of "sqs.eu-west-1.amazonaws.com"; empty for hosts of another make.
std::string region_of(std::string_view host)
{
    constexpr std::string_view service = "sqs.";
    if (!host.starts_with(service)) return {};
    host.remove_prefix(service.size());
    return std::string(host.substr(0, host.find('.')));
}

/// Lets a queue URL say what nobody else has said.
result<void> learn_from(std::string_view queue, endpoint_options& where)
{
    auto const at = net::parse_endpoint(queue);
    if (!at) return failure(errc::invalid_option, "QUEUE_URL: " + at.error().message);
    if (!is_amazons(at->host))
        where.url = at->origin();
    else if (where.region.empty())
        where.region = region_of(at->host);
    return {};
}

} // namespace

bool is_url(std::string_view queue)
{
    return queue.find("://") != queue.npos;
}

result<aws::credentials> local_keys(aws::environment const& variable)
{
    bool const none = aws::first_set(variable, {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}).empty();
    if (none) return aws::credentials{"test", "test", ""};
    return aws::credentials_from(variable);
}

result<sqs::client_options> client_options_from(
    endpoint_options where, std::string_view queue, aws::environment const& variable)
{
    if (where.url.empty()) where.url = aws::first_set(variable, {"AWS_ENDPOINT_URL_SQS", "AWS_ENDPOINT_URL"});
    if (where.url.empty() && is_url(queue)) {
        if (auto const learnt = learn_from(queue, where); !learnt) return learnt.error();
    }
    if (where.region.empty()) where.region = aws::first_set(variable, {"AWS_REGION", "AWS_DEFAULT_REGION"});

    bool is_local = false;
    if (!where.url.empty()) {
        auto const at = net::parse_endpoint(where.url);
        if (!at) return failure(errc::invalid_option, "--endpoint (or AWS_ENDPOINT_URL_SQS): " + at.error().message);
        is_local = !is_amazons(at->host);
    }
    if (where.region.empty() && is_local) where.region = "us-east-1";
    if (where.region.empty()) {
        return failure(errc::invalid_option,
            "no region: give --region or set AWS_REGION; for a local broker give "
            "--endpoint or set AWS_ENDPOINT_URL_SQS");
    }

    auto keys = is_local ? local_keys(variable) : aws::credentials_from(variable);
    if (!keys) return keys.error();

    sqs::client_options options;
    options.where.url = where.url;
    options.where.region = where.region;
    options.credentials = aws::static_credentials(std::move(*keys));
    auto const resolved = sqs::resolve(options.where, variable);
    if (!resolved) return resolved.error();
    return options;
}

sqs::answer<std::string> queue_url(sqs::api& sqs, std::string url_or_name)
{
    if (is_url(url_or_name)) co_return url_or_name;
    sqs::get_queue_url_request request(std::move(url_or_name));
    auto const found = co_await sqs.get_queue_url(std::move(request));
    if (!found) co_return found.error();
    co_return found->queue_url;
}

} // namespace quern::app
