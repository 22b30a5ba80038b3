// Includes every header that docs/index.md names as a front door, and links what is behind it.

#include <quern/admin/host.hpp>
#include <quern/aws/credentials/credential_chain.hpp>
#include <quern/broker/server.hpp>
#include <quern/consumer/consumer.hpp>
#include <quern/consumer/consumer_group.hpp>
#include <quern/consumer/json.hpp>
#include <quern/consumer/middleware.hpp>
#include <quern/consumer/typed.hpp>
#include <quern/flags/ssm.hpp>
#include <quern/fleet/fleet_limit.hpp>
#include <quern/idempotency/dynamodb_store.hpp>
#include <quern/idempotency/once.hpp>
#include <quern/metrics/exporter.hpp>
#include <quern/producer/producer.hpp>
#include <quern/quern.hpp>
#include <quern/redrive/redriver.hpp>
#include <quern/relay/relay.hpp>
#include <quern/services/dynamodb.hpp>
#include <quern/sim/local_api.hpp>
#include <quern/sim/world.hpp>
#include <quern/sqs/client.hpp>
#include <quern/tracing/traced_api.hpp>

#include <string>
#include <string_view>

namespace {

/// Deletes none; the compiler does not know that.
template <class T>
bool link_type()
{
    T* volatile none = nullptr;
    delete none;
    return true;
}

template <class Function>
bool link_function(Function* one)
{
    Function* volatile kept = one;
    return kept != nullptr;
}

template <class... Types>
bool link_types()
{
    return (... && link_type<Types>());
}

std::string text_of(std::string_view text)
{
    return std::string(text);
}

quern::outcome count(std::string const& text, quern::delivery&)
{
    return text.empty() ? quern::reject("empty") : quern::ack();
}

} // namespace

int main()
{
    bool const linked =
        link_types<quern::consumer, quern::consumer_group, quern::producer, quern::sqs::client, quern::admin::host,
            quern::broker::server, quern::fleet::fleet_limit, quern::idempotency::dynamodb_store,
            quern::idempotency::once, quern::metrics::exporter, quern::redrive::redriver, quern::relay::relay,
            quern::services::dynamodb, quern::sim::local_api, quern::tracing::traced_api>() &&
        link_function(&quern::aws::default_credentials) && link_function(&quern::flags::in_parameter) &&
        link_function(&quern::sim::run);
    auto const handler = quern::chain(quern::typed(&text_of, &count));
    auto const of_json = quern::read_json("7", [](quern::json_document& of) { return of.get_int64().value(); });
    return linked && handler && of_json == 7 ? 0 : 1;
}
