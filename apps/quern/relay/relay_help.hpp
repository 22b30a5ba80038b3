#pragma once

namespace quern::app {

/// The text of `quern relay --help` below its options.
inline constexpr char const* relay_help =
    R"(Each message becomes one request. A status of --success deletes the message; nothing else does. Redirects are not followed.
429 and 503 with Retry-After put the message off for so long, --retry-after-max at most, other failures by --backoff, a time
that grows with the receive count. An
answer of --unavailable, or a service that cannot be reached, says nothing of the message: after ten new ones in a row the
relay asks a tenth as often, until one succeeds. 429 puts off its own message alone. Only where the
service takes so many a second and no more, however many are sent, the relay sends hardly more than that. What no --retry names,
404 for one, is retried all the same, with a warning: --reject is for you to choose.

The lease of a message is extended while its request runs; when it is lost the request is cancelled. A request that was
sent and not answered may have been carried out: it comes again with the same Idempotency-Key.

Places to fill, in the path and query of the URL (percent-encoded) and in headers:
  {{id}} {{body}} {{group}} {{receive_count}} {{queue}} {{sent_at}} {{first_received_at}} {{sequence_number}}
  {{deduplication_id}} {{attr.NAME}} {{body:/json/pointer}}
A header whose place the message cannot fill is left out; a message that cannot fill a place of the URL is rejected to the
--poison-queue, or retried without one.

Formats: raw, the body as it is; sns, as a notification of SNS; sns-message unwraps such a notification: what was published is
sent, with its attributes and its trace; cloudevents, with ce- headers; cloudevents-structured, as
application/cloudevents+json; lambda, as the event of a Lambda function, whose answer says what has failed.

--config FILE reads the same from a TOML file, and [[relay.rule]] tables; this command line has the last word. --compat
carrier reads CARRIER_* variables, --compat sqsd SQSD_*, and sends their headers; only 200 deletes then. As carrier, it
sends as many requests however many are answered with 429.

--check reads everything, asks --health-url once and ends. --dry-run prints the request that a message from standard input
would make: a line of `quern consume`, or else a body.

SIGTERM and SIGINT drain, SIGUSR1 explains, SIGHUP reads --config again, and the exit status is that of `quern consume`; see its --help.

Examples:
  quern relay orders https://app.example.com/hook --bearer-file /run/secrets/token --poison-queue orders-bad --reject 422
  quern relay orders 'http://localhost:8080/tenants/{{attr.tenant}}/orders' --header 'X-Kind: {{body:/kind}}'
  echo '{"kind":"new"}' | quern relay orders http://localhost:8080/ --dry-run)";

} // namespace quern::app
