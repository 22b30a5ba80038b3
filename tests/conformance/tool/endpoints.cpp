#include "suites.hpp"

#include <quern/aws/config/endpoint_rules.hpp>

#include <boost/json.hpp>

#include <array>
#include <optional>

namespace quern::conformance {
namespace {

/// The service that a file is about: "sts-endpoint-tests.json".
std::optional<aws::service_name> service_of(std::string_view file)
{
    static constexpr std::array<aws::service_name, 3> known{aws::sqs_service, aws::sts_service, aws::sso_service};
    for (auto const& each : known) {
        if (file.starts_with(std::string(each.id) + '-')) return each;
    }
    return {};
}

/// Fills in what the rules would sign with where they don't say it: the region asked for, the service's own name.
void compare_signing(json::value const& endpoint, aws::regional_endpoint const& found, checked_case& out)
{
    auto const* const properties = find(endpoint, "properties");
    if (!properties) return;
    for (auto const& scheme : list_at(*properties, "authSchemes")) {
        out.equal("signing region", text_at(scheme, "signingRegion"), found.signing_region);
        out.equal("signing name", text_at(scheme, "signingName"), found.signing_name);
    }
}

void run_case(aws::service_name const& service, json::value const& given, checked_case& out)
{
    auto const& params = part(given, "params");
    aws::endpoint_parameters asked;
    asked.region = text_at(params, "Region");
    asked.url = text_at(params, "Endpoint");
    asked.fips = flag_at(params, "UseFIPS");
    asked.dual_stack = flag_at(params, "UseDualStack");
    asked.sts_global = flag_at(params, "UseGlobalEndpoint");
    auto const found = aws::endpoint_for(service, asked);

    auto const& expected = given.at("expect");
    auto const* const endpoint = find(expected, "endpoint");
    if (!endpoint) {
        if (found) out.equal("error", text_at(expected, "error"), "the endpoint " + found->url);
        return;
    }
    out.equal("url", text_at(*endpoint, "url"), found ? found->url : found.error().message);
    if (found) compare_signing(*endpoint, *found, out);
}

} // namespace

void run_endpoints(fs::path const& path, report& results)
{
    for (auto const& file : json_files(path)) {
        auto const data = read_json(file);
        auto const cases = list_at(data, "testCases");
        if (cases.empty()) continue; // the rule sets, and the partitions, lie in the same folder
        auto const service = service_of(file.filename().string());
        for (auto const& given : cases) {
            auto const name = file.stem().string() + ": " + text_at(given, "documentation");
            if (!service) {
                results.skip(name, "Quern does not talk to this service");
                continue;
            }
            checked_case out(results, name);
            try {
                run_case(*service, given, out);
            } catch (std::exception const& e) {
                out.fail(e.what());
            }
        }
    }
}

} // namespace quern::conformance
