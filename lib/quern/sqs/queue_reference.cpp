#include <quern/sqs/queue_reference.hpp>

#include <quern/sqs/limits.hpp>

#include <algorithm>
#include <utility>

namespace quern::sqs {

namespace {

constexpr std::string_view arn_prefix = "arn:";

failure no_queue(std::string_view option, std::string_view queue)
{
    return failure(errc::invalid_option,
        std::string(option) + " is \"" + std::string(queue) +
            "\", which is no queue's name, nor a URL as https://sqs.eu-west-1.amazonaws.com/123456789012/orders is "
            "one, nor an ARN as arn:aws:sqs:eu-west-1:123456789012:orders is one");
}

} // namespace

bool is_queue_url(std::string_view queue)
{
    return queue.find("://") != queue.npos;
}

std::optional<queue_arn> queue_arn_in(std::string_view queue)
{
    std::string_view parts[6];
    auto rest = queue;
    for (auto& part : parts) {
        auto const end = &part == &parts[5] ? rest.npos : rest.find(':');
        part = rest.substr(0, end);
        rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
    }
    auto const& [arn, partition, service, region, account, name] = parts;
    if (arn != "arn" || partition.empty() || service != "sqs" || region.empty()) return {};
    auto const is_account = !account.empty() && account.find_first_not_of("0123456789") == account.npos;
    if (!is_account || !is_queue_name(name)) return {};
    return queue_arn{region, account, name};
}

std::string_view queue_name_in(std::string_view queue)
{
    return queue.substr(queue.find_last_of("/:") + 1); // all of it where there is none
}

std::string sibling_of(std::string_view queue, std::string_view name)
{
    auto const path = queue.size() - queue_name_in(queue).size();
    return std::string(queue.substr(0, path)).append(name);
}

std::optional<failure> check_queue(std::string_view option, std::string_view queue)
{
    auto const is_plain = [](char c) { return static_cast<unsigned char>(c) > ' '; };
    bool const is_whole = std::all_of(queue.begin(), queue.end(), is_plain) && !queue.ends_with('/');
    if ((is_queue_url(queue) && is_whole) || is_queue_name(queue) || queue_arn_in(queue)) return {};
    return no_queue(option, queue);
}

std::optional<failure> check_region(std::string_view queue, std::string_view clients_region)
{
    auto const arn = queue_arn_in(queue);
    if (!arn || clients_region.empty() || arn->region == clients_region) return {};
    return failure(errc::invalid_option,
        std::string(queue) + " is in " + std::string(arn->region) + ", and the client's region is " +
            std::string(clients_region) + ": give it the queue's region");
}

answer<std::string> find_queue_url(api& sqs, std::string queue)
{
    if (is_queue_url(queue)) co_return queue;
    get_queue_url_request request(queue);
    if (queue.starts_with(arn_prefix)) {
        auto const arn = queue_arn_in(queue);
        if (!arn) co_return no_queue("the queue", queue);
        if (auto wrong = check_region(queue, sqs.region())) co_return *wrong;
        request.queue_name = arn->name;
        request.owner_account_id = std::string(arn->account);
    }
    auto found = co_await sqs.get_queue_url(std::move(request));
    if (!found) co_return found.error();
    co_return std::move(found->queue_url);
}

} // namespace quern::sqs
