#include <quern/aws/detail/signing/rest_signer.hpp>

#include <utility>

namespace quern::aws::detail {

using namespace quern::detail;

namespace {

/// Without the slash that an operation's own path begins with.
rest_target joined(rest_target target)
{
    if (target.path.ends_with('/')) target.path.pop_back();
    return target;
}

} // namespace

rest_signer::rest_signer(rest_target target) : target_(joined(std::move(target))) {}

std::string rest_signer::request(
    std::string_view operation, std::string_view body, credentials const& who, wall_time now)
{
    auto const space = operation.find(' ');
    auto const method = operation.substr(0, space);
    auto const target = target_.path + std::string(operation.substr(space + 1));
    request_view what{method, target, {{"host", target_.host}}, body};
    if (!body.empty()) what.headers.push_back({"content-type", "application/json"});
    signing_scope const scope{text::timestamp(now), target_.region, target_.service};
    auto const signature = sign(what, who, scope, signing_options(), keys_);

    std::string out(method);
    out.append(" ").append(target).append(" HTTP/1.1\r\nuser-agent: ").append(target_.user_agent).append("\r\n");
    for (auto const& header : what.headers)
        out.append(header.name).append(": ").append(header.value).append("\r\n");
    if (method != "GET") out.append("content-length: ").append(std::to_string(body.size())).append("\r\n");
    for (auto const& [name, value] : signature.added)
        out.append(name).append(": ").append(value).append("\r\n");
    return out.append("\r\n").append(body);
}

} // namespace quern::aws::detail
