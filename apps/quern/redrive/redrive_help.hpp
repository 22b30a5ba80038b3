#pragma once

namespace quern::app {

/// The text of `quern redrive --help` below its options.
inline constexpr char const* redrive_help =
    R"(Sends the messages of a dead-letter queue back, each to the queue that it came from unless --to names another, and
deletes it once that queue has confirmed. Any number of these may run at once.

A copy has the body, all attributes, the trace header and the group, and counts in x-redrive-attempt how often it was
redriven. After --max-attempts, or when that is no count, it is poison and goes to the --poison-queue with the reason in
QuernReason; without one it stays, is named, and the exit status is 1. The original id and times are new to the queue, but
x-original-first-receive-timestamp keeps the time of the first receive.

A message is delayed by --delay-base, doubled with each attempt up to --delay-max: by SQS on a standard queue, here on a FIFO
queue, where it counts from the start of the run and the rest of the group waits behind.

--canary 10:5m sends ten, waits until they could be received and five minutes more, and goes on only when none has come back
(or no more than --stop-on-return). What has come back is seen when it is received again, and by the queue's count of messages,
which on Amazon's SQS lags by a minute and a half: watch for longer than that.

What is not chosen is hidden for 15 minutes at a time and made visible again at the end. On a FIFO queue it holds up its group.
Messages are found by receiving, so each look at one counts as a receive of it.

--native only has SQS move them (StartMessageMoveTask), from a queue that is a dead-letter queue: as they are, at --rate up to
500 a second, without a count of attempts and so without an end to what fails again.

--journal DIR writes every decision to DIR/NAME.jsonl before it is carried out. A run that was killed, stopped or drained goes on
with `quern redrive resume`; what may have been sent twice is named. Delays may then be 30 days: the messages stay in the queue,
hidden for up to 12 hours at a time. What has no room for the count goes unchanged, and DIR counts it. Any number of runs may be in
DIR, one at a time over each queue. See status, history, export and cancel.

SIGTERM and SIGINT drain. Exit status: 0 when all that was chosen went; 1 when something was left or failed, others had hidden
messages when the end of the queue was reached, the run was ended early by a signal, or nobody knows whether something was sent; 2 also when the journal cannot be written; 3 when the drain left something behind; 5 when a rule, the flag
or `cancel` stopped the run, or a refusal that would not pass.

Examples:
  quern redrive sample orders-dlq
  quern redrive orders-dlq --dry-run --where 'attr.type = "legacy"'
  quern redrive orders-dlq --canary 10:5m --ramp 1/s..50/s:10m --stop-on-return 5% --poison-queue orders-poison
  quern redrive orders-dlq --rule 'attr.type = "legacy" -> orders-legacy'
  quern redrive orders-dlq --id 30ea7123-59df-46d6-8b66-037694bbd9dc
  quern redrive orders-dlq --journal /var/lib/quern --delay-base 1d --delay-max 14d --breaker-flag ssm:/orders/halt
  quern redrive status --journal /var/lib/quern
  quern redrive isolate orders-dlq --to orders-poison --where-body '/version = 1')";

} // namespace quern::app
