#include "relay/relay_preview.hpp"

#include "common/complaint.hpp"
#include "common/endpoint_options.hpp"
#include "common/standard_streams.hpp"
#include "relay/relay_work.hpp"

#include <quern/aws/config/environment.hpp>
#include <quern/core/detail/text/base64.hpp>
#include <quern/core/detail/text/date.hpp>
#include <quern/relay/detail/oauth2.hpp>
#include <quern/sqs/queue_reference.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <fmt/core.h>

#include <deque>
#include <iostream>
#include <iterator>

namespace quern::app {

using namespace quern::detail;

namespace {

namespace json = boost::json;

/// A message, and the texts that it refers to.
class sample {
public:
    explicit sample(std::string input)
    {
        boost::system::error_code ec;
        auto const line = json::parse(input, ec);
        auto const* const object = ec ? nullptr : line.if_object();
        if (object && object->contains("message_id") && object->contains("body"))
            read(*object);
        else
            plain(std::move(input));
    }

    sqs::message const& message() const { return message_; }

private:
    std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }

    void add(std::string_view name, std::string value)
    {
        if (!value.empty()) message_.system_attributes.push_back({name, keep(std::move(value))});
    }

    void plain(std::string body)
    {
        if (body.ends_with('\n')) body.pop_back();
        message_.body = keep(std::move(body));
        message_.id = "00000000-0000-0000-0000-000000000000";
        add("ApproximateReceiveCount", "1");
        auto const now = milliseconds(real_clock().wall());
        add("SentTimestamp", now);
        add("ApproximateFirstReceiveTimestamp", now);
    }

    static std::string milliseconds(wall_time at)
    {
        return std::to_string(std::chrono::floor<std::chrono::milliseconds>(at.time_since_epoch()).count());
    }

    static std::string text_of(json::object const& from, std::string_view name)
    {
        auto const* const found = from.if_contains(name);
        if (!found || found->is_null()) return {};
        return found->is_string() ? std::string(found->get_string()) : json::serialize(*found);
    }

    static std::string time_of(json::object const& from, std::string_view name)
    {
        auto const at = text::parse_rfc3339(text_of(from, name));
        return at ? milliseconds(*at) : std::string();
    }

    void read(json::object const& line)
    {
        message_.id = keep(text_of(line, "message_id"));
        message_.body = keep(text_of(line, "body"));
        add("ApproximateReceiveCount", text_of(line, "receive_count"));
        add("SentTimestamp", time_of(line, "sent_at"));
        add("ApproximateFirstReceiveTimestamp", time_of(line, "first_received_at"));
        add("MessageGroupId", text_of(line, "group"));
        auto const* const all = line.if_contains("attributes");
        if (!all || !all->is_object()) return;
        for (auto const& [name, value] : all->get_object()) {
            auto const* const one = value.if_object();
            if (!one) continue;
            auto& a = message_.attributes.emplace_back();
            a.name = keep(std::string(name));
            a.data_type = keep(text_of(*one, "type"));
            auto bytes = text_of(*one, "value");
            if (a.is_binary()) bytes = text::base64_decode(bytes).value_or(std::string());
            a.value = keep(std::move(bytes));
        }
    }

    std::deque<std::string> texts_;
    sqs::message message_;
};

relay::queue_name name_of(relay_settings const& how)
{
    auto region = how.region.empty() ? std::string("us-east-1") : how.region;
    if (sqs::is_queue_url(how.queue)) return relay::queue_name::from_url(how.queue, std::move(region));
    auto const arn = sqs::queue_arn_in(how.queue);
    auto const account = std::string(arn ? arn->account : "000000000000");
    if (arn) region = arn->region;
    return relay::queue_name::from_url("//" + account + '/' + std::string(sqs::queue_name_in(how.queue)), region);
}

/// Why the authorization server gives no token; nothing where it does.
std::optional<std::string> token_trouble(boost::asio::io_context& io, relay_settings const& how)
{
    auto options = how.web;
    options.environment = aws::process_environment;
    net::web_hook_client web(io.get_executor(), std::move(options));
    auto const tokens = relay::detail::tokens_of(web, *how.relay.oauth2, real_clock());
    std::optional<std::string> out;
    boost::asio::co_spawn(io, tokens->load(), [&](std::exception_ptr bug, result<aws::credentials> const& got) {
        if (bug) std::rethrow_exception(bug);
        if (!got) out = got.error().message;
    });
    io.run();
    io.restart();
    return out;
}

} // namespace

int check(relay_settings const& how)
{
    auto const keys = relay::read_keys(how.relay);
    if (!keys) return complain(keys.error());
    boost::asio::io_context io{1};
    std::optional<std::string> sick;
    try {
        net::web_hook_client const web(io.get_executor(), how.web);
        if (how.relay.oauth2) {
            if (auto const why = token_trouble(io, how)) return complain("--oauth2-token-url: " + *why);
        }
    } catch (std::exception const& e) {
        return complain(e.what(), usage);
    }
    if (how.checks_health) {
        auto once = how;
        once.wait_healthy = {};
        auto const ended = [&](std::exception_ptr bug, result<bool> const& is_well) {
            if (bug) std::rethrow_exception(bug);
            if (!is_well) sick = is_well.error().message;
            if (is_well && !*is_well) sick = "told to end";
        };
        boost::asio::co_spawn(io, wait_until_healthy(io, once), ended);
        io.run();
    }
    if (sick) return complain("--health-url: " + *sick);
    say(stdout, "{}: settings and files are in order{}{}\n", how.url, how.relay.oauth2 ? ", a token is given" : "",
        how.checks_health ? ", and the health check succeeds" : "");
    return ok;
}

int preview(relay_settings const& how)
{
    auto const keys = relay::read_keys(how.relay);
    if (!keys) return complain(keys.error());
    sample const from(std::string(std::istreambuf_iterator<char>(std::cin), {}));
    auto const queue = name_of(how);
    relay::letter const of{from.message(), queue};
    auto const request = how.relay.batches ? relay::make_batch_request({&of, 1}, how.relay.request, *keys)
                                           : relay::make_request(of, how.relay.request, *keys, real_clock().wall());
    if (!request) return complain(request.error().message);
    for (auto const& left_out : request->left_out)
        log_line(log_level::warning, left_out);
    auto const& origin = how.relay.request.url.origin();
    say(stdout, "{} {} HTTP/1.1\nHost: {}\n", request->method, request->target,
        origin.substr(origin.find("://") + 3));
    bool const hides = !keys->authorization.empty();
    if (how.relay.oauth2) say(stdout, "Authorization: Bearer (a token by OAuth2, not asked for)\n");
    for (auto const& [name, value] : request->headers) {
        bool const is_secret = hides && value == keys->authorization;
        say(stdout, "{}: {}\n", name, is_secret ? value.substr(0, value.find(' ')) + " (not shown)" : value);
    }
    say(stdout, "Content-Length: {}\n\n{}\n", request->body.size(), request->body);
    return ok;
}

} // namespace quern::app
