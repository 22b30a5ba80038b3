#include <quern/aws/credentials/detail/credential_json.hpp>
#include <quern/aws/credentials/detail/refresh.hpp>
#include <quern/aws/credentials/instance_metadata.hpp>
#include <quern/aws/detail/error_reply.hpp>
#include <quern/core/detail/text/characters.hpp>
#include <quern/core/detail/text/reading.hpp>

namespace quern::aws {

using namespace detail;
using namespace quern::detail;

using boost::asio::awaitable;

namespace {

constexpr std::string_view role_path = "/latest/meta-data/iam/security-credentials/";

failure no_metadata(std::string why)
{
    return failure(errc::no_credentials, std::move(why));
}

/// A whole number from 1 to `most`; `otherwise` when the text is empty.
result<int> number(std::string const& text, char const* name, int otherwise, int most)
{
    if (text.empty()) return otherwise;
    auto const value = text::number_in<int>(text).value_or(0);
    if (value >= 1 && value <= most) return value;
    return no_metadata(std::string(name) + " must be a whole number from 1 to " + std::to_string(most));
}

/// The three requests share their way.
class conversation {
public:
    conversation(surroundings const& around, instance_service service) : around_(around), service_(std::move(service))
    {}

    awaitable<result<std::string>> ask(char const* method, std::string path)
    {
        std::function<result<web_request>()> const make = [&]() -> result<web_request> {
            web_request request(service_.url + path);
            request.method = method;
            request.timeout = service_.timeout;
            request.is_next_door = true;
            if (token_.empty())
                request.headers.emplace_back("x-aws-ec2-metadata-token-ttl-seconds", "21600");
            else
                request.headers.emplace_back("x-aws-ec2-metadata-token", token_);
            return request;
        };
        patience const how{service_.attempts, false};
        auto answer = co_await fetch(around_.http, around_.time, make, decode_error, how);
        if (!answer) co_return answer.error();
        co_return std::move(answer->body);
    }

    awaitable<result<void>> begin()
    {
        auto token = co_await ask("PUT", "/latest/api/token");
        if (!token) co_return silent(token.error());
        token_ = std::move(*token);
        if (token_.empty()) co_return no_metadata(service_.url + ": the token is empty");
        co_return result<void>();
    }

private:
    failure silent(failure why) const
    {
        if (why.http_status == 0 && why.code != make_error_code(errc::stopped))
            why = no_metadata("nobody answers at " + service_.url + " (" + why.code.message() + ')');
        return why;
    }

    surroundings const& around_;
    instance_service service_;
    std::string token_;
};

} // namespace

result<std::optional<instance_service>> find_instance_service(
    environment const& variable, section const* profile, instance_choice choice)
{
    if (says_true(variable("AWS_EC2_METADATA_DISABLED"))) return std::optional<instance_service>();
    auto const setting = [&](std::string chosen, char const* name, char const* key) {
        if (chosen.empty()) chosen = variable(name);
        return chosen.empty() && profile ? profile->get(key) : chosen;
    };
    instance_service out;
    out.url = setting(choice.endpoint, "AWS_EC2_METADATA_SERVICE_ENDPOINT", "ec2_metadata_service_endpoint");
    if (out.url.empty()) {
        auto const mode = setting(
            choice.endpoint_mode, "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "ec2_metadata_service_endpoint_mode");
        auto const kind = text::lower_case(mode);
        if (!kind.empty() && kind != "ipv4" && kind != "ipv6") {
            return no_metadata("ec2_metadata_service_endpoint_mode (or the variable of that name): \"" + mode +
                "\" is neither IPv4 nor IPv6");
        }
        out.url = kind == "ipv6" ? "http://[fd00:ec2::254]" : "http://169.254.169.254";
    }
    while (out.url.ends_with('/'))
        out.url.pop_back();
    if (auto const at = net::parse_url(out.url); !at) {
        return no_metadata("ec2_metadata_service_endpoint (or the variable of that name): " + at.error().message);
    }
    auto const timeout = number(setting("", "AWS_METADATA_SERVICE_TIMEOUT", "metadata_service_timeout"),
        "AWS_METADATA_SERVICE_TIMEOUT", 1, 60);
    if (!timeout) return timeout.error();
    out.timeout = std::chrono::seconds(*timeout);
    auto const attempts = number(setting("", "AWS_METADATA_SERVICE_NUM_ATTEMPTS", "metadata_service_num_attempts"),
        "AWS_METADATA_SERVICE_NUM_ATTEMPTS", out.attempts, 10);
    if (!attempts) return attempts.error();
    out.attempts = *attempts;
    return std::optional(std::move(out));
}

awaitable<result<credentials>> instance_credentials(
    surroundings const& around, instance_service service, double jitter)
{
    auto const url = service.url;
    conversation instance(around, std::move(service));
    auto const begun = co_await instance.begin();
    if (!begun) co_return begun.error();
    std::string path(role_path);
    auto role = co_await instance.ask("GET", path);
    if (!role && role.error().http_status == 404) {
        co_return no_metadata(url + ": no role is attached to this instance: attach an instance profile");
    }
    if (!role) co_return role.error();
    path += role->substr(0, role->find('\n'));
    auto const answer = co_await instance.ask("GET", path);
    if (!answer) co_return answer.error();
    auto found = credentials_in_json(*answer, url);
    auto const now = around.time.wall();
    if (found && found->expires_at && *found->expires_at <= now + refresh_rule::slack) {
        auto const longer = std::chrono::minutes(10) + std::chrono::minutes(5) * jitter;
        found->expires_at = now + std::chrono::duration_cast<wall_time::duration>(longer);
    }
    co_return found;
}

} // namespace quern::aws
