#include <quern/services/app_config.hpp>

#include <quern/aws/detail/signing/canonical.hpp>
#include <quern/core/detail/text/json_writer.hpp>
#include <quern/core/simdjson.hpp>
#include <quern/services/detail/call.hpp>

#include <charconv>

namespace quern::services {

using namespace quern::detail;
namespace asio = boost::asio;
namespace dom = simdjson::dom;

namespace {

using session = start_configuration_session_request::response;
using reading = get_latest_configuration_request::response;

std::string encode(start_configuration_session_request const& r)
{
    std::string out;
    text::json_writer to(out);
    to.begin_object();
    to.member("ApplicationIdentifier", r.what.application);
    to.member("EnvironmentIdentifier", r.what.environment);
    to.member("ConfigurationProfileIdentifier", r.what.profile);
    if (r.least_interval) to.member("RequiredMinimumPollIntervalInSeconds", std::int64_t(r.least_interval->count()));
    to.end_object();
    return out;
}

result<session> decode_session(net::response const& from)
{
    dom::parser parser;
    dom::element all;
    std::string_view token;
    bool const is_one = parser.parse(from.body.data(), from.body.size()).get(all) == simdjson::SUCCESS &&
        all["InitialConfigurationToken"].get(token) == simdjson::SUCCESS && !token.empty();
    if (!is_one) return failure(errc::bad_reply, "InitialConfigurationToken: missing");
    session out;
    out.token = token;
    return out;
}

result<reading> decode_reading(net::response const& from)
{
    reading out;
    out.token = from.fields.find("next-poll-configuration-token");
    if (out.token.empty()) return failure(errc::bad_reply, "Next-Poll-Configuration-Token: missing");
    auto const next = from.fields.find("next-poll-interval-in-seconds");
    int seconds = 0;
    auto const [end, ec] = std::from_chars(next.data(), next.data() + next.size(), seconds);
    bool const is_number = ec == std::errc() && end == next.data() + next.size() && seconds >= 0;
    if (!is_number) return failure(errc::bad_reply, "Next-Poll-Interval-In-Seconds: missing, or no number");
    out.next = std::chrono::seconds(seconds);
    if (!from.body.empty()) out.content = from.body;
    out.content_type = from.fields.find("content-type");
    out.version_label = from.fields.find("version-label");
    return out;
}

} // namespace

app_config::app_config(asio::any_io_executor ex, aws::client_options options, clock& time)
    : service_client(detail::make_host(
          std::move(ex), aws::app_config_data_service, std::move(options), aws::detail::rest_target(), time))
{}

app_config::answer<start_configuration_session_request> app_config::start_configuration_session(
    start_configuration_session_request r)
{
    auto const read = [](detail::reply const& end) { return detail::read(end, decode_session); };
    return detail::call(host_, "POST /configurationsessions", encode(r), read);
}

app_config::answer<get_latest_configuration_request> app_config::get_latest_configuration(
    get_latest_configuration_request r)
{
    auto const read = [](detail::reply const& end) { return detail::read(end, decode_reading); };
    return detail::call(
        host_, "GET /configuration?configuration_token=" + aws::detail::uri_encode(r.token), "", read);
}

} // namespace quern::services
