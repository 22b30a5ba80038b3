#include <quern/consumer/client_options.hpp>

#include <algorithm>

namespace quern {

sqs::client_options client_options_for(consumer_options const& options, sqs::client_options base)
{
    using std::chrono::milliseconds;
    auto& pool = base.connections;
    base.retries.max_attempts = 1;
    base.request_timeout = std::min(base.request_timeout, milliseconds(options.visibility_timeout) / 6);
    pool.data_connections = std::max(pool.data_connections, options.limits.max_polls);
    pool.control_connections = std::max(pool.control_connections, options.settle.max_calls);
    return base;
}

sqs::client_options client_options_for(consumer_options const& options)
{
    return client_options_for(options, options.client);
}

} // namespace quern
