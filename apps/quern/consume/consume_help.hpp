#pragma once

namespace quern::app {

/// The text of `quern consume --help` below its options.
inline constexpr char const* consume_help =
    R"(Without --exec each message becomes one JSON line on standard output and is acknowledged once the line is out:
  {"message_id": …, "body": …, "receive_count": 1, "sent_at": …, "first_received_at": …, "group": …,
   "attributes": {"kind": {"type": "String", "value": "order"}}}
Should standard output break, what was not written is given back, and the program ends with status 1.

With --exec the command runs through /bin/sh -c once a message, with the body on its standard input and these variables:
  QUERN_MESSAGE_ID, QUERN_RECEIVE_COUNT, QUERN_QUEUE_URL, QUERN_ATTRIBUTES (JSON as above), QUERN_SENT_AT,
  QUERN_FIRST_RECEIVED_AT, QUERN_GROUP; all of them always, and empty where the message has no such thing; with
  --traces TRACEPARENT and TRACESTATE. Attributes that do not fit into a variable (128 KiB) are in the file that
  QUERN_ATTRIBUTES_FILE names, and QUERN_ATTRIBUTES is empty.
Status 0 acknowledges the message, anything else puts it off by --backoff, unless --sysexits or a list gives it another meaning:
rejected, malformed, or unavailable, which says nothing of the message. The command's standard
output is that of this program. When the lease is lost or a drain runs out of time it and all that it has started get SIGTERM,
and SIGKILL after a twentieth of --drain-deadline. A command that is not there when the program starts ends it.

With --until-empty it ends when a receive comes back empty, nothing is held here, and the queue counts no message, be it
visible, in flight elsewhere or delayed. (On Amazon's SQS these counts may lag by a minute.)

SIGTERM and SIGINT drain: no more receives, handlers end, what was not started becomes visible again, everything is
settled. At nine tenths of --drain-deadline, or at a second signal, handlers are cancelled. Exit status: 0 when nothing
was left behind, 3 when something was, see --report; 4 when messages were rejected and, with neither --poison-queue
nor a dead-letter queue, deleted unhandled; 1 when the output or the report failed, or when the first receive was
refused: no such queue, no permission, wrong keys. When that begins later it goes on asking, and says so in the log.

--report makes a draft in the folder of the file at once, and puts the whole report in its place at the end.

SIGUSR1 makes it say on standard error what it does and why no more: which limit is reached, what fails, which message is the
oldest. It says so by itself when nothing was received and nothing settled for --stall-after seconds.

With several queues --max-in-flight is that of all together: each gets an equal share while all are busy, and what one does
not need goes to the others. The other limits are those of each queue. A line of JSON has "queue_url" then, and the report
"queues", with the counts of each. When one is refused at the start, all drain.

--settings names a file in TOML, any of these lines; what it leaves out is as the command line says:
  max_in_flight = 200
  max_bytes_in_flight = 67_108_864
  rate = "30/min"            # or 50, which is a second
  burst = 5
  max_polls = 8
  handler_concurrency = 4
At SIGHUP it is read again, and its limits are in force at once: nothing that is in flight is dropped, and after one was
lowered nothing new begins until there is less. A file that cannot be used changes nothing, and the log says why.

--rate 50 begins to handle fifty messages a second at most, however many come; --rate 30/min or 100/h as well. After a quiet
time --burst of them may begin at once. What has not begun when it drains is given back.
--fleet-limit ddb:TABLE/NAME makes it the rate of all processes that name this item together: each leases a part of it.

On a FIFO queue the messages of a group run one after the other, in order. When one fails, those behind it wait: until it
comes again (retry), until it is in the --poison-queue (skip), until it comes again after --park-for (park), or for you, since
the program drains and ends (halt).

--flag names a flag outside that halts the work while it says open, halt, true, 1 or on, and lets it run while it says closed,
run, false, 0 or off, or JSON like {"isOpen": true}. It is read every --flag-interval seconds in the background. While it
cannot be read, halt stands; run counts for five minutes, then the work runs on, or halts where --on-unknown-flag says so:
  ssm:/orders/halt                       a parameter of Systems Manager
  ddb:TABLE/orders                       the attribute data (or #another) of the item whose id is quern#flag#orders
  appconfig:shop/prod/flags#/orders      a configuration of AppConfig; after # a JSON pointer into it
  appconfig-agent:shop/prod/flags        the same, asked of the AppConfig agent on this machine
  file:/run/orders/halt                  a file; put a new one in its place by a rename

Delivery is at least once: a message may come more than once. With --idempotency the work of each key is done once: the key is
claimed before, the claim follows the message's lease, and what is done is remembered for --idempotency-life. A duplicate is
acknowledged without running; a key that somebody else works on is waited for. Only a handler that is killed between its effect
and the end of its command does it twice. `quern idempotency table create` makes the table; memory is for one process.

Examples:
  quern consume orders --until-empty > orders.jsonl
  quern consume orders mails bills --settings /etc/shop/limits.toml --exec ./handle
  quern consume http://127.0.0.1:9324/000000000000/orders --exec 'curl -sf -d @- http://localhost:8080/orders'
  quern consume orders --exec ./charge --idempotency ddb:seen --idempotency-key body:/order/id
  quern consume orders --exec ./handle-order --max-in-flight 16 --report /run/orders/drain.json)";

} // namespace quern::app
