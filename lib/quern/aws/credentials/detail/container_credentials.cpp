#include <quern/aws/credentials/detail/container_credentials.hpp>
#include <quern/aws/credentials/detail/credential_json.hpp>
#include <quern/aws/detail/error_reply.hpp>

#include <boost/asio/ip/address.hpp>

namespace quern::aws::detail {
namespace {

constexpr auto relative_uri = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
constexpr auto full_uri = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
constexpr auto token_file = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE";
constexpr auto token_text = "AWS_CONTAINER_AUTHORIZATION_TOKEN";

failure refused(std::string why)
{
    return failure(errc::no_credentials, std::move(why));
}

bool is_near(std::string const& host)
{
    boost::system::error_code ec;
    auto const text = boost::asio::ip::make_address(host, ec).to_string();
    return net::is_this_machine(host) || text == "169.254.170.2" || text == "169.254.170.23" ||
        text == "fd00:ec2::23";
}

/// Empty when there is none.
result<std::string> token(surroundings const& around)
{
    auto const path = around.variable(token_file);
    if (path.empty()) return around.variable(token_text);
    auto read = around.files.read(path);
    if (!read) {
        return refused(std::string(token_file) + ": " + path + " cannot be read: " + read.error().code.message());
    }
    auto const end = read->find_last_not_of("\r\n");
    read->resize(end == read->npos ? 0 : end + 1);
    return read;
}

} // namespace

result<std::optional<std::string>> container_url(environment const& variable)
{
    if (auto const path = variable(relative_uri); !path.empty()) {
        auto url = "http://169.254.170.2" + path;
        if (!path.starts_with('/') || !net::parse_url(url)) {
            return refused(std::string(relative_uri) + " must be a path like /v2/credentials");
        }
        return std::optional(std::move(url));
    }
    auto url = variable(full_uri);
    if (url.empty()) return std::optional<std::string>();
    auto const address = net::parse_url(url);
    if (!address) { // and its path is a secret
        return refused(std::string(full_uri) + " must be a URL like http://169.254.170.23/v1/credentials");
    }
    if (!address->tls && !is_near(address->host)) {
        return refused(std::string(full_uri) + ": " + address->host +
            " is not this machine, 169.254.170.2, 169.254.170.23 or fd00:ec2::23: use https");
    }
    return std::optional(std::move(url));
}

boost::asio::awaitable<result<credentials>> container_credentials(surroundings const& around, std::string url)
{
    auto const at = net::parse_url(url);
    auto const where =
        at ? at->origin() : "the container's endpoint"; // its path is a secret, of one task among others
    auto const allowed = token(around);
    if (!allowed) co_return allowed.error();
    if (allowed->find_first_of("\r\n") != allowed->npos) {
        co_return refused("the authorization token for " + where + " contains a line break");
    }
    std::function<result<web_request>()> const make = [&]() -> result<web_request> {
        web_request request(url);
        request.timeout = std::chrono::seconds(2);
        request.is_next_door = !url.starts_with("https:");
        request.headers.emplace_back("accept", "application/json");
        if (!allowed->empty()) request.headers.emplace_back("authorization", *allowed);
        return request;
    };
    auto const answer = co_await fetch(around.http, around.time, make, decode_error, patience());
    if (!answer) co_return answer.error();
    co_return credentials_in_json(answer->body, where);
}

} // namespace quern::aws::detail
