#include "target.hpp"

#include <quern/aws/config/detail/partitions.hpp>
#include <quern/aws/config/endpoint_rules.hpp>
#include <quern/aws/config/profile.hpp>
#include <quern/aws/credentials/detail/credential_json.hpp>
#include <quern/aws/credentials/recipe.hpp>
#include <quern/aws/credentials/sso.hpp>
#include <quern/net/endpoint.hpp>

#include <cstdint>
#include <string>
#include <tuple>

namespace quern::fuzz {

using namespace quern::aws::detail;

void profile(std::string_view bytes)
{
    auto const half = bytes.find('\x1e'); // what stands behind this character is the credentials file
    aws::shared_file const config{"config", std::string(bytes.substr(0, half))};
    aws::shared_file const keys{"credentials", half == bytes.npos ? "" : std::string(bytes.substr(half + 1))};
    auto const read = aws::parse_shared_config(config, keys);
    if (!read) {
        must(read.error().message.find('\x1e') == std::string::npos, "an error shows nothing of the file");
        return;
    }
    for (auto const& [name, section] : read->profiles) {
        std::ignore = aws::recipe_of(*read, name);
        read->service(section, "sqs");
        for (auto const& [key, value] : section.values)
            aws::nested_in(value);
    }
}

void credentials_json(std::string_view bytes)
{
    read_flat_json(bytes);
    read_flat_json(bytes, "rolecredentials");
    auto const read = credentials_in_json(bytes, "a test");
    if (read) must(!read->access_key_id.empty() && !read->secret_access_key.empty(), "credentials are whole");
    aws::parse_sso_token(bytes);
}

void endpoint_rules(std::string_view bytes)
{
    if (bytes.empty()) return;
    auto const flags = static_cast<std::uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    auto const line = bytes.find('\n');
    aws::endpoint_parameters asked;
    asked.region = bytes.substr(0, line);
    if (line != bytes.npos) asked.url = bytes.substr(line + 1);
    asked.fips = flags & 1;
    asked.dual_stack = flags & 2;
    asked.sts_global = flags & 4;
    auto const& service = flags & 8 ? aws::sts_service : aws::sqs_service;
    auto const where = aws::endpoint_for(service, asked);
    if (where && asked.url.empty()) must(net::parse_endpoint(where->url).has_value(), "a region's endpoint is a URL");
    home_of(bytes);
}

} // namespace quern::fuzz
