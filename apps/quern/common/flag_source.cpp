#include "common/flag_source.hpp"

#include "common/flag_text.hpp"
#include "common/service_options.hpp"

#include <quern/flags/app_config.hpp>
#include <quern/flags/dynamodb.hpp>
#include <quern/flags/file.hpp>
#include <quern/flags/ssm.hpp>

#include <boost/system/system_error.hpp>

#include <algorithm>
#include <utility>

namespace quern::app {

namespace {

using namespace std::chrono_literals;

/// A reading has to end within half a minute, and there is another one soon.
template <class Options>
result<Options> options_for(session const& s, aws::service_name const& service)
{
    Options out;
    out.request_timeout = 4s;
    out.retries.max_attempts = 2;
    auto const settled =
        settle(out, service, {{}, s.options.where.region, s.options.profile}, aws::process_environment);
    if (!settled) return settled.error();
    if (!out.credentials && !s.options.credentials) out.credentials = s.sqs.credentials();
    return out;
}

template <class Client, class Options>
result<std::shared_ptr<Client>> client_of(session const& s, aws::service_name const& service)
{
    auto options = options_for<Options>(s, service);
    if (!options) return options.error();
    return std::make_shared<Client>(s.sqs.get_executor(), std::move(*options));
}

result<std::shared_ptr<policy::flag_source>> made(
    session const& s, flag_place const& at, std::chrono::seconds interval)
{
    services::configuration_name what("", "", "");
    if (at.path.size() == 3) what = {at.path[0], at.path[1], at.path[2]};
    switch (at.where) {
    case flag_place::kind::file: return flags::in_file(at.path[0]);
    case flag_place::kind::agent: return flags::in_app_config_agent(std::move(what), at.part);
    case flag_place::kind::parameter: {
        auto client = client_of<services::ssm, aws::client_options>(s, aws::ssm_service);
        if (!client) return client.error();
        return flags::in_parameter(std::move(*client), at.path[0]);
    }
    case flag_place::kind::configuration: {
        auto client = client_of<services::app_config, aws::client_options>(s, aws::app_config_data_service);
        if (!client) return client.error();
        return flags::in_app_config(std::move(*client), std::move(what), at.part, std::max(15s, interval));
    }
    case flag_place::kind::item: break;
    }
    auto client = client_of<services::dynamodb, services::dynamodb_options>(s, aws::dynamodb_service);
    if (!client) return client.error();
    flags::flag_item item{at.path[0], at.path[1]};
    if (!at.part.empty()) item.attribute = at.part;
    return flags::in_table(std::move(*client), std::move(item));
}

} // namespace

result<std::shared_ptr<policy::flag_source>> open_flag(
    session const& s, std::string const& option, std::string const& text, std::chrono::seconds interval)
{
    auto const named = [&](std::string const& why) {
        return failure(errc::invalid_option, option + ' ' + text + ": " + why);
    };
    auto const at = parse_flag(text);
    if (!at) return failure(errc::invalid_option, option + ": " + at.error().message);
    try {
        auto out = made(s, *at, interval);
        if (!out) return named(out.error().message);
        return out;
    } catch (boost::system::system_error const& e) { // an endpoint that is none, a file of authorities that is gone
        return named(e.what());
    }
}

} // namespace quern::app
