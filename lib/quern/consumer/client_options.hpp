#pragma once

#include <quern/consumer/options.hpp>

namespace quern {

/// Settings of an sqs::client that a consumer with these options speaks through: `base`, with what a consumer sets in
/// the client that it makes for itself. With the client's own defaults, three attempts of 10 s each, a server that
/// hangs costs leases.
///
/// Attempts     one a call. It comes back to the consumer, which knows how long the lease still lasts, and tries
///              again.
/// Timeout      a sixth of visibility_timeout, or that of `base` where it is shorter: two attempts fit into the third
///              of a lease that is left when it is extended. Receives have their own, see
///              sqs::client_options::receive_slack.
/// Connections  enough for one consumer, or as many as `base` has: none of its calls waits for one. Where several
///              share the client, give `base` the sum.
sqs::client_options client_options_for(consumer_options const&, sqs::client_options base);

/// The same with `consumer_options::client` as the base.
sqs::client_options client_options_for(consumer_options const&);

} // namespace quern
