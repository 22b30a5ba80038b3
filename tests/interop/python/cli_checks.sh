#!/usr/bin/env bash
# The AWS CLI against any SQS: the checks of docs/interop.md, one JSON line each.
#
# usage: checks.sh [CHECK...]       AWS: the command, `aws` when not set
#                                   SYSTEM_ATTRIBUTES: the option of that name, --attribute-names before 2024

set -uo pipefail
prefix=${QUERN_INTEROP_PREFIX:-cli}
export AWS_MAX_ATTEMPTS=2 AWS_PAGER=

# Version 1 of the CLI does not read AWS_ENDPOINT_URL_SQS.
sqs() { "${AWS:-aws}" --endpoint-url "$AWS_ENDPOINT_URL_SQS" sqs "$@"; }
text() { sqs "$@" --output text; }

# Ends the check.
fail() {
    printf '%s\n' "$*" >&3
    exit 1
}

equal() { # found wanted what
    [[ $1 == "$2" ]] || fail "$3: '$1' instead of '$2'"
}

create() { # name attributes...
    local name=$1
    shift
    text create-queue --queue-name "$prefix-$name" ${1+--attributes "$@"} --query QueueUrl || fail "create-queue $name"
}

attribute() { text get-queue-attributes --queue-url "$1" --attribute-names All --query "Attributes.$2"; }

receive() { # queue query options...
    local queue=$1 query=$2
    shift 2
    text receive-message --queue-url "$queue" "${SYSTEM_ATTRIBUTES:---message-system-attribute-names}" All --max-number-of-messages 10 \
        --visibility-timeout 30 --query "$query" "$@" || fail receive-message
}

put() { sqs send-message --queue-url "$1" --message-body "$2" "${@:3}" >/dev/null || fail send-message; }

show() { sqs change-message-visibility --queue-url "$1" --receipt-handle "$2" --visibility-timeout 0 || fail show; }

send() {
    local queue handle body found
    queue=$(create send)
    for body in plain 'quotes " \ <&> Grüße 你好 😀'; do
        put "$queue" "$body"
        IFS=$'\t' read -r handle found < <(receive "$queue" 'Messages[0].[ReceiptHandle,Body]' --wait-time-seconds 2)
        equal "$found" "$body" body
        sqs delete-message --queue-url "$queue" --receipt-handle "$handle" || fail delete-message
    done
    equal "$(attribute "$queue" '[ApproximateNumberOfMessages,ApproximateNumberOfMessagesNotVisible]')" $'0\t0' left
}

batch() {
    local queue handles done
    queue=$(create batch)
    equal "$(text send-message-batch --queue-url "$queue" --query 'length(Successful)' \
        --entries Id=s0,MessageBody=a Id=s1,MessageBody=b Id=s2,MessageBody=c)" 3 sent
    read -ra handles < <(receive "$queue" 'Messages[].ReceiptHandle' --wait-time-seconds 2)
    equal ${#handles[@]} 3 received
    done=$(text delete-message-batch --queue-url "$queue" --entries \
        "Id=d0,ReceiptHandle=${handles[0]}" Id=bad,ReceiptHandle=no-such-handle \
        "Id=d1,ReceiptHandle=${handles[1]}" "Id=d2,ReceiptHandle=${handles[2]}" \
        --query '[join(`,`, sort(Successful[].Id)), Failed[0].Id, Failed[0].Code]')
    equal "$done" $'d0,d1,d2\tbad\tReceiptHandleIsInvalid' deleted
    equal "$(attribute "$queue" '[ApproximateNumberOfMessages,ApproximateNumberOfMessagesNotVisible]')" $'0\t0' left
}

visibility() {
    local queue handle count
    queue=$(create visibility)
    put "$queue" m
    read -r handle count < <(receive "$queue" 'Messages[0].[ReceiptHandle,Attributes.ApproximateReceiveCount]')
    equal "$count" 1 'receive count'
    equal "$(receive "$queue" 'Messages')" None 'while it is hidden'
    show "$queue" "$handle"
    read -r handle count < <(receive "$queue" 'Messages[0].[ReceiptHandle,Attributes.ApproximateReceiveCount]')
    equal "$count" 2 'receive count'
    equal "$(text change-message-visibility-batch --queue-url "$queue" --query '[Successful[].Id, Failed[].Code]' \
        --entries "Id=c,ReceiptHandle=$handle,VisibilityTimeout=0" Id=bad,ReceiptHandle=no,VisibilityTimeout=0)" \
        $'c\nReceiptHandleIsInvalid' changed
    equal "$(receive "$queue" 'Messages[0].Attributes.ApproximateReceiveCount')" 3 'receive count'
}

queue() {
    local url
    url=$(create queue VisibilityTimeout=45)
    equal "$(text get-queue-url --queue-name "$prefix-queue" --query QueueUrl)" "$url" URL
    equal "$(attribute "$url" VisibilityTimeout)" 45 VisibilityTimeout
    sqs set-queue-attributes --queue-url "$url" --attributes VisibilityTimeout=50 || fail set-queue-attributes
    equal "$(attribute "$url" VisibilityTimeout)" 50 VisibilityTimeout
    put "$url" a
    equal "$(attribute "$url" ApproximateNumberOfMessages)" 1 count
    sqs purge-queue --queue-url "$url" || fail purge-queue
    equal "$(receive "$url" Messages)" None 'after the purge'
    sqs delete-queue --queue-url "$url" || fail delete-queue
    refused AWS.SimpleQueueService.NonExistentQueue get-queue-url --queue-name "$prefix-queue"
}

attributes() {
    local queue
    queue=$(create attributes VisibilityTimeout=0)
    put "$queue" m --message-attributes '{"text": {"DataType": "String", "StringValue": "Grüße"},
        "kind.number": {"DataType": "Number.int", "StringValue": "17"},
        "bytes": {"DataType": "Binary", "BinaryValue": "raw bytes"}}'
    equal "$(receive "$queue" 'Messages[0].MessageAttributes.[text.StringValue, "kind.number".[StringValue,DataType],
        bytes.BinaryValue][]' --message-attribute-names All --visibility-timeout 0)" $'Grüße\t17\tNumber.int\tcmF3IGJ5dGVz' attributes
    equal "$(receive "$queue" 'Messages[0].MessageAttributes' --visibility-timeout 0)" None 'attributes that nobody asked for'
    equal "$(receive "$queue" 'length(keys(Messages[0].MessageAttributes))' --message-attribute-names 'kind.*' text)" \
        2 'attributes by name'
}

fifo() {
    local queue body head handle others
    queue=$(create fifo.fifo FifoQueue=true,ContentBasedDeduplication=true)
    for body in a1 b1 a2 a1; do # the second a1 is a duplicate
        put "$queue" "$body" --message-group-id "${body:0:1}"
    done
    read -r head handle < <(receive "$queue" 'Messages[0].[Body,ReceiptHandle]' --max-number-of-messages 1)
    equal "$head" a1 head
    others=$(receive "$queue" 'Messages[].Body')
    equal "$others" b1 'of a group whose head is in flight'
    sqs delete-message --queue-url "$queue" --receipt-handle "$handle" || fail delete-message
    equal "$(receive "$queue" 'Messages[].Body')" a2 'after the head'
}

kill_twice() { # name; sets source, letters, arn
    local handle
    letters=$(create "$1-dlq")
    arn=$(attribute "$letters" QueueArn)
    source=$(create "$1" "{\"RedrivePolicy\": \"{\\\"deadLetterTargetArn\\\": \\\"$arn\\\", \\\"maxReceiveCount\\\": 2}\"}")
    put "$source" poison
    for _ in 1 2; do
        handle=$(receive "$source" 'Messages[0].ReceiptHandle' --wait-time-seconds 2)
        show "$source" "$handle"
    done
    equal "$(receive "$source" Messages)" None 'after its last receive'
}

dead_letters() {
    local source letters arn
    kill_twice letters
    equal "$(receive "$letters" 'Messages[0].[Body,Attributes.DeadLetterQueueSourceArn]' --wait-time-seconds 2)" \
        "poison"$'\t'"$(attribute "$source" QueueArn)" 'dead letter'
    equal "$(text list-dead-letter-source-queues --queue-url "$letters" --query queueUrls)" "$source" 'source queues'
}

move_task() {
    local source letters arn status
    kill_twice move
    sqs start-message-move-task --source-arn "$arn" >/dev/null || fail start-message-move-task
    for _ in {1..20}; do
        status=$(text list-message-move-tasks --source-arn "$arn" \
            --query 'Results[0].[Status,ApproximateNumberOfMessagesMoved]')
        [[ $status == RUNNING* ]] || break
    done
    equal "$status" $'COMPLETED\t1' task
    equal "$(receive "$source" 'Messages[0].Body' --wait-time-seconds 2)" poison 'moved back'
}

long_poll() {
    local queue began=$SECONDS
    queue=$(create poll)
    { sleep 2; put "$queue" wake; } &
    equal "$(receive "$queue" 'Messages[0].Body' --wait-time-seconds 18)" wake message
    wait
    ((SECONDS - began < 16)) || fail "it was not woken by the message: it took $((SECONDS - began)) s"
}

tags() {
    local queue
    queue=$(create tags)
    sqs tag-queue --queue-url "$queue" --tags team=mill,tier=1 || fail tag-queue
    equal "$(text list-queue-tags --queue-url "$queue" --query 'Tags.[team,tier]')" $'mill\t1' tags
    sqs untag-queue --queue-url "$queue" --tag-keys tier || fail untag-queue
    equal "$(text list-queue-tags --queue-url "$queue" --query 'Tags.[team,tier]')" $'mill\tNone' tags
}

paging() {
    local n
    for n in 0 1 2; do create "page-$n" >/dev/null; done
    equal "$(text list-queues --queue-name-prefix "$prefix-page-" --page-size 2 --query QueueUrls | wc -w)" 3 queues
}

refused() { # code arguments...
    local said
    said=$(sqs "${@:2}" 2>&1) && fail "it was accepted; $1 was due"
    [[ $said == *"($1)"* ]] || fail "$said"
}

errors() {
    local queue
    queue=$(create errors)
    refused AWS.SimpleQueueService.BatchEntryIdsNotDistinct send-message-batch --queue-url "$queue" \
        --entries Id=a,MessageBody=m Id=a,MessageBody=m
    refused ReceiptHandleIsInvalid delete-message --queue-url "$queue" --receipt-handle no-such-handle
}

signature() {
    AWS_SECRET_ACCESS_KEY=wrong refused SignatureDoesNotMatch list-queues
    AWS_ACCESS_KEY_ID=AKIAUNKNOWN refused InvalidClientTokenId list-queues
}

checks=(send batch visibility queue attributes fifo dead_letters move_task long_poll tags paging errors signature)
for check in "${@:-${checks[@]}}"; do
    why=$( ("$check" >/dev/null) 3>&1 2>&1 | tr -d '"\\' | tr '\n\t' '  ' | tail -c 400; exit "${PIPESTATUS[0]}") && why=
    [[ -z $why ]] && ok=true || ok=false
    printf '{"check": "%s", "ok": %s, "why": "%s"}\n' "$check" "$ok" "$why"
done
