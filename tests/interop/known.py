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

RELAYS = {}

TRACERS = {}

STORES = {
    "moto": {"together": "heeds no condition of a PartiQL statement, and takes no INSERT"},
}

POWERTOOLS = {}

WATCHERS = {}

# Theirs: what each check finds, wherever; a server's own shortcoming stands beside it.
LUMIGO_TYPES = "copies attributes of the type String alone; those with a label, numbers and bytes are lost"
REPLAY_TYPES = "copies the body alone: every attribute is lost"
NO_TRACE = "does not ask for the trace header, so the copy has none"
NO_QUERY = "speaks the query protocol, which fauxqs does not know"
LUMIGO_GROUPS = "sends no MessageGroupId, so a FIFO queue refuses the batch"
REPLAY_GROUPS = "puts all messages into one group of its own"

MOVERS = {
    "quern": {
        "moto: trace": "moto drops the trace header of a message that is sent in a batch",
        "moto: groups": "moto's SequenceNumber is random for messages with a deduplication id; Quern orders a group by it",
        "fauxqs: trace": "fauxqs does not keep AWSTraceHeader",
    },
    "lumigo-cli": {
        **{f"{server}: types": LUMIGO_TYPES for server in ("our broker", "moto", "elasticmq")},
        **{f"{server}: trace": NO_TRACE for server in ("our broker", "moto", "elasticmq")},
        **{f"{server}: groups": LUMIGO_GROUPS for server in ("our broker", "moto", "elasticmq")},
        **{f"fauxqs: {check}": NO_QUERY for check in ("plain", "types", "trace", "groups")},
        "our broker: refused": "deletes the whole batch, also the messages of it that the queue refused: those are lost",
        "our broker: killed": "ten loops have ten messages each in hand, which are then there twice, unmarked",
    },
    "replay-aws-dlq": {
        **{f"{server}: types": REPLAY_TYPES for server in ("our broker", "elasticmq")},
        **{f"{server}: trace": NO_TRACE for server in ("our broker", "elasticmq")},
        **{f"{server}: groups": REPLAY_GROUPS for server in ("our broker", "elasticmq")},
        **{f"fauxqs: {check}": NO_QUERY for check in ("plain", "types", "trace", "groups")},
    },
}
