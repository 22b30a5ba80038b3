#include <quern/aws/detail/signing/json_signer.hpp>

namespace quern::aws::detail {

using namespace quern::detail;

json_signer::json_signer(json_target target) : target_(std::move(target))
{
    if (!target_.path.ends_with('/')) target_.path.push_back('/');
}

json_signer::prepared const& json_signer::prepare(std::string_view operation, std::string_view session_token)
{
    auto const found = operations_.find(operation);
    if (found != operations_.end() && found->second.session_token == session_token) return found->second;

    auto const target = target_.target_prefix + '.' + std::string(operation);
    std::vector<header_view> headers{
        {"host", target_.host}, {"content-type", content_type(target_.version)}, {"x-amz-target", target}};
    if (target_.query_compatible) headers.push_back({"x-amzn-query-mode", "true"});
    if (!session_token.empty()) headers.push_back({"x-amz-security-token", session_token});

    prepared made;
    made.session_token = session_token;
    made.head = "POST " + target_.path + " HTTP/1.1\r\nuser-agent: " + target_.user_agent + "\r\n";
    for (auto const& h : headers)
        made.head.append(h.name).append(": ").append(h.value).append("\r\n");
    made.head += "content-length: ";

    headers.push_back({"x-amz-date", ""});
    auto const canonical = canonicalize(headers);
    auto const text = canonical_request("POST", canonical_path(target_.path, true), "", canonical, "");
    auto const date_at = text.find("\nx-amz-date:") + sizeof "\nx-amz-date:" - 1;
    made.before_date = text.substr(0, date_at);
    made.after_date = text.substr(date_at);
    made.signed_names = canonical.names;
    return operations_.insert_or_assign(std::string(operation), std::move(made)).first->second;
}

json_signer::moment const& json_signer::turn_to(wall_time now)
{
    auto const second = std::chrono::floor<std::chrono::seconds>(now);
    if (now_ && now_->second == second) return *now_;
    text::timestamp const at(second);
    polls_.clear();
    return now_.emplace(moment{second, at, signing_scope{at, target_.region, target_.service}.text()});
}

std::string json_signer::request(
    std::string_view operation, std::string_view body, credentials const& who, wall_time now)
{
    auto const& fixed = prepare(operation, who.session_token);
    auto const& [second, at, scope] = turn_to(now);
    text::hex_text const payload(text::sha256(body));
    std::array<std::string_view, 4> const request{fixed.before_date, at.text(), fixed.after_date, payload};
    text::hex_text const canonical(text::sha256(text::text_parts(request)));
    auto const& key = keys_.get(who.secret_access_key, at.day(), target_.region, target_.service);
    text::hex_text const signature(signature_of(key, at, scope, canonical));

    std::string out;
    out.reserve(fixed.head.size() + fixed.signed_names.size() + body.size() + 320);
    out.append(fixed.head).append(std::to_string(body.size())).append("\r\nx-amz-date: ").append(at.text());
    out.append("\r\nauthorization: ").append(sigv4_algorithm).append(" Credential=").append(who.access_key_id);
    out.append("/").append(scope).append(", SignedHeaders=").append(fixed.signed_names);
    return out.append(", Signature=").append(signature).append("\r\n\r\n").append(body);
}

std::string json_signer::poll(
    std::string_view operation, std::string_view body, credentials const& who, wall_time now)
{
    turn_to(now);
    auto const found = polls_.find(body);
    if (found != polls_.end() && found->second.operation == operation && found->second.who == who) {
        return found->second.text;
    }
    auto text = request(operation, body, who, now);
    constexpr std::size_t limit = 64; // queues that are polled in one second, several kinds of poll each
    if (polls_.size() == limit) polls_.clear();
    polls_.insert_or_assign(std::string(body), written{std::string(operation), who, text});
    return text;
}

} // namespace quern::aws::detail
