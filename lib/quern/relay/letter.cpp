#include <quern/relay/letter.hpp>

#include <quern/aws/config/detail/partitions.hpp>

namespace quern::relay {

queue_name queue_name::from_url(std::string_view url, std::string region)
{
    queue_name out;
    out.region = aws::detail::home_of(url).region;
    if (out.region.empty()) out.region = std::move(region);
    auto const last = url.rfind('/');
    if (last == url.npos) {
        out.name = url;
        return out;
    }
    auto const before = url.substr(0, last);
    auto const account = before.substr(before.rfind('/') + 1);
    out.name = url.substr(last + 1);
    out.arn = "arn:" + std::string(aws::detail::partition_of(out.region).name) + ":sqs:" + out.region + ':' +
        std::string(account) + ':' + out.name;
    return out;
}

} // namespace quern::relay
