"""What other people's servers cannot do, with the reason. A cell that says no without standing here fails the run, and so does
one that stands here and says yes: the versions are pinned, so either is news."""

ANYONE = "checks no signature: whoever comes is let in"
NO_SOURCE_ARN = "dead letters arrive, but without DeadLetterQueueSourceArn"

SERVERS = {
    "fauxqs": {
        "send": "refuses letters beyond U+FFFF, which SQS takes",
        "batch": "takes any receipt handle: the bad entry counts as deleted",
        "attributes": "does not keep AWSTraceHeader; returns attributes that nobody asked for",
        "dead_letters": NO_SOURCE_ARN + "; has no ListDeadLetterSourceQueues",
        "move_task": "has no message move tasks",
        "paging": "cuts the list at MaxResults and gives no NextToken",
        "errors": "takes any receipt handle",
        "signature": ANYONE,
    },
    "local-aws-sqs": {
        "visibility": "gives system attributes, the receive count among them, through the former AttributeNames alone",
        "queue": "counts what was sent a moment late; PurgeQueue takes effect a minute later",
        "attributes": "its MD5 counts the letters of a value rather than its bytes, and is wrong for other than ASCII",
        "fifo": "delivers from a group whose head is in flight",
        "dead_letters": "counts a ChangeMessageVisibility as a receive: the message is dead one receive too early",
        "move_task": "needs a dead letter, see dead_letters",
        "long_poll": "answers at the end of the wait, whatever comes",
        "signature": ANYONE,
        "consumer: order": "gives no MessageGroupId, see visibility, and does not keep groups back, see fifo",
        "consumer: long_poll": "answers at the end of the wait, whatever comes",
    },
    "moto": {
        "dead_letters": NO_SOURCE_ARN,
        "move_task": "has no message move tasks: answers with a page of HTML and 500",
        "consumer: order": "its SequenceNumber is random for messages with a deduplication id; Quern orders a group by it",
    },
    "elasticmq": {
        "queue": "names the error for a missing queue QueueDoesNotExist, since its x-amzn-query-error lacks the second half",
        "attributes": "does not know name prefixes (kind.*) when attributes are asked for",
        "paging": "pays no heed to MaxResults",
        "signature": ANYONE,
    },
}

CLIENTS = {}
