"""boto3 against any SQS: the checks of docs/interop.md, one JSON line each.

usage: checks.py [CHECK...]
"""
import json
import os
import sys
import threading
import time

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

PREFIX = os.environ.get("QUERN_INTEROP_PREFIX", "py")
FOREVER = "30"  # seconds of invisibility that no check waits for


def client(**keys):
    calm = Config(retries={"mode": "standard", "max_attempts": 2}, connect_timeout=5, read_timeout=30)
    return boto3.client("sqs", endpoint_url=os.environ["AWS_ENDPOINT_URL_SQS"], config=calm, **keys)


sqs = client()
# Before 2024 they had another name.
members = sqs.meta.service_model.operation_model("ReceiveMessage").input_shape.members
SYSTEM_ATTRIBUTES = next(name for name in ("MessageSystemAttributeNames", "AttributeNames") if name in members)


def create(name, **attributes):
    return sqs.create_queue(QueueName=f"{PREFIX}-{name}", Attributes=attributes)["QueueUrl"]


def attribute(queue, name):
    return sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])["Attributes"].get(name)


def receive(queue, most=10, wait=0, **options):
    options.setdefault(SYSTEM_ATTRIBUTES, ["All"])
    got = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=most, WaitTimeSeconds=wait, **options)
    return got.get("Messages", [])


def collect(queue, count, **options):
    """Receives until there are `count`, or five receives in a row are not enough."""
    got = []
    for _ in range(count + 5):
        got += receive(queue, wait=1, **options)
        if len(got) >= count:
            break
    return got


def delete(queue, *messages):
    for message in messages:
        sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])


def show(queue, message, seconds=0):
    sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=seconds)


def equal(found, wanted, what):
    if found != wanted:
        raise AssertionError(f"{what}: {found!r} instead of {wanted!r}")


def refused(code, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except ClientError as error:
        # moto's answer to a wrong signature is XML, in which a JSON client finds no code but the status
        if error.response["Error"]["Code"] != "403":
            equal(error.response["Error"]["Code"], code, "error code")
        return error
    raise AssertionError(f"it was accepted; {code} was due")


def send():
    queue = create("send")
    bodies = ["plain", 'quotes " \\ \t\n <&> Grüße \u4f60\u597d \U0001f600', "x" * 200_000]
    for body in bodies:
        sqs.send_message(QueueUrl=queue, MessageBody=body)
    got = collect(queue, 3, VisibilityTimeout=30)
    equal(sorted(m["Body"] for m in got), sorted(bodies), "bodies")
    delete(queue, *got)
    equal(receive(queue), [], "after the deletes")


def batch():
    queue = create("batch", VisibilityTimeout=FOREVER)
    sent = sqs.send_message_batch(QueueUrl=queue, Entries=[{"Id": f"s{n}", "MessageBody": f"m{n}"} for n in range(3)])
    equal([e["Id"] for e in sent["Successful"]], ["s0", "s1", "s2"], "sent")
    entries = [{"Id": f"d{n}", "ReceiptHandle": m["ReceiptHandle"]} for n, m in enumerate(collect(queue, 3))]
    entries.insert(1, {"Id": "bad", "ReceiptHandle": "no-such-handle"})
    done = sqs.delete_message_batch(QueueUrl=queue, Entries=entries)
    equal(sorted(e["Id"] for e in done.get("Successful", [])), ["d0", "d1", "d2"], "deleted")
    failed = done.get("Failed", [])
    equal([(e["Id"], e["Code"], e["SenderFault"]) for e in failed], [("bad", "ReceiptHandleIsInvalid", True)], "failed")
    equal((attribute(queue, "ApproximateNumberOfMessages"), attribute(queue, "ApproximateNumberOfMessagesNotVisible")),
          ("0", "0"), "left")


def visibility():
    queue = create("visibility", VisibilityTimeout=FOREVER)
    sqs.send_message(QueueUrl=queue, MessageBody="m")
    first, = collect(queue, 1)
    equal(receive(queue), [], "while it is hidden")
    show(queue, first)
    second, = collect(queue, 1)
    equal(second["Attributes"]["ApproximateReceiveCount"], "2", "receive count")
    changed = sqs.change_message_visibility_batch(QueueUrl=queue, Entries=[
        {"Id": "c", "ReceiptHandle": second["ReceiptHandle"], "VisibilityTimeout": 1},
        {"Id": "bad", "ReceiptHandle": "no-such-handle", "VisibilityTimeout": 1}])
    equal([e["Id"] for e in changed.get("Successful", [])], ["c"], "changed")
    third, = collect(queue, 1)
    equal(third["Attributes"]["ApproximateReceiveCount"], "3", "receive count")
    equal([(e["Id"], e["Code"]) for e in changed.get("Failed", [])], [("bad", "ReceiptHandleIsInvalid")], "failed")


def queue():
    url = create("queue", VisibilityTimeout="45")
    equal(sqs.get_queue_url(QueueName=f"{PREFIX}-queue")["QueueUrl"], url, "URL")
    equal(attribute(url, "VisibilityTimeout"), "45", "VisibilityTimeout")
    equal(attribute(url, "QueueArn").split(":")[-1], f"{PREFIX}-queue", "ARN")
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "50"})
    equal(attribute(url, "VisibilityTimeout"), "50", "VisibilityTimeout")
    for body in ("a", "b"):
        sqs.send_message(QueueUrl=url, MessageBody=body)
    equal(attribute(url, "ApproximateNumberOfMessages"), "2", "count")
    sqs.purge_queue(QueueUrl=url)
    equal(receive(url), [], "after the purge")
    sqs.delete_queue(QueueUrl=url)
    gone = refused("AWS.SimpleQueueService.NonExistentQueue", sqs.get_queue_url, QueueName=f"{PREFIX}-queue")
    equal(isinstance(gone, sqs.exceptions.QueueDoesNotExist), True, "typed error")


def attributes():
    url = create("attributes")
    given = {"text": {"DataType": "String", "StringValue": "Grüße"},
             "kind.number": {"DataType": "Number.int", "StringValue": "17"},
             "bytes": {"DataType": "Binary", "BinaryValue": bytes(range(256))}}
    trace = "Root=1-5759e988-bd862e3fe1be46a994272793"
    sqs.send_message(QueueUrl=url, MessageBody="m", MessageAttributes=given,
                     MessageSystemAttributes={"AWSTraceHeader": {"DataType": "String", "StringValue": trace}})
    got, = collect(url, 1, MessageAttributeNames=["All"], VisibilityTimeout=0)
    equal(got.get("MessageAttributes"), given, "attributes")
    equal(got["Attributes"].get("AWSTraceHeader"), trace, "AWSTraceHeader")
    got, = collect(url, 1, VisibilityTimeout=0)
    equal(got.get("MessageAttributes"), None, "attributes that nobody asked for")
    got, = collect(url, 1, MessageAttributeNames=["kind.*", "text"], VisibilityTimeout=0)
    equal(sorted(got.get("MessageAttributes", {})), ["kind.number", "text"], "attributes by name")


def fifo():
    url = create("fifo.fifo", FifoQueue="true", ContentBasedDeduplication="true", VisibilityTimeout=FOREVER)
    for body in ("a1", "b1", "a2", "a3", "b2", "a1"):  # the second a1 is a duplicate
        sqs.send_message(QueueUrl=url, MessageBody=body, MessageGroupId=body[0])
    head, = collect(url, 1, most=1)
    others = receive(url)
    equal([m["Body"] for m in others if m["Body"][0] == head["Body"][0]], [], "of a group whose head is in flight")
    order = []
    got = [head, *others]
    while got:
        order += [m["Body"] for m in got]
        delete(url, *got)
        got = receive(url, wait=1)
    equal([b for b in order if b[0] == "a"], ["a1", "a2", "a3"], "group a")
    equal([b for b in order if b[0] == "b"], ["b1", "b2"], "group b")


def kill_twice(name):
    """A queue, its dead-letter queue, and a message that has gone from one to the other."""
    letters = create(name + "-dlq")
    arn = attribute(letters, "QueueArn")
    source = create(name, RedrivePolicy=json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 2}))
    sqs.send_message(QueueUrl=source, MessageBody="poison")
    for _ in range(2):
        got, = collect(source, 1, VisibilityTimeout=30)
        show(source, got)
    equal(receive(source), [], "after its last receive")
    return source, letters, arn


def dead_letters():
    source, letters, _ = kill_twice("letters")
    dead, = collect(letters, 1)
    equal(dead["Body"], "poison", "dead letter")
    equal(dead["Attributes"].get("DeadLetterQueueSourceArn"), attribute(source, "QueueArn"), "DeadLetterQueueSourceArn")
    equal(sqs.list_dead_letter_source_queues(QueueUrl=letters)["queueUrls"], [source], "source queues")


def move_task():
    source, letters, arn = kill_twice("move")
    sqs.start_message_move_task(SourceArn=arn)
    for _ in range(40):
        task = sqs.list_message_move_tasks(SourceArn=arn)["Results"][0]
        if task["Status"] not in ("RUNNING", "CREATED"):
            break
        time.sleep(0.1)
    equal((task["Status"], task["ApproximateNumberOfMessagesMoved"]), ("COMPLETED", 1), "task")
    back, = collect(source, 1)
    equal(back["Body"], "poison", "moved back")


def long_poll():
    url = create("poll")
    late = threading.Timer(0.7, sqs.send_message, kwargs={"QueueUrl": url, "MessageBody": "wake"})
    began = time.monotonic()
    late.start()
    got = receive(url, wait=8)
    took = time.monotonic() - began
    late.join()
    equal([m["Body"] for m in got], ["wake"], "messages")
    equal(took < 6, True, f"woken by the message: it took {took:.1f} s of 8")


def tags():
    url = create("tags")
    sqs.tag_queue(QueueUrl=url, Tags={"team": "mill", "tier": "1"})
    equal(sqs.list_queue_tags(QueueUrl=url)["Tags"], {"team": "mill", "tier": "1"}, "tags")
    sqs.untag_queue(QueueUrl=url, TagKeys=["tier"])
    equal(sqs.list_queue_tags(QueueUrl=url)["Tags"], {"team": "mill"}, "tags")


def paging():
    urls = [create(f"page-{n}") for n in range(3)]
    pages = [page.get("QueueUrls", []) for page in sqs.get_paginator("list_queues").paginate(
        QueueNamePrefix=f"{PREFIX}-page-", PaginationConfig={"PageSize": 2})]
    equal([len(page) for page in pages], [2, 1], "pages")
    equal(sorted(sum(pages, [])), urls, "queues")


def errors():
    url = create("errors")
    entry = {"Id": "a", "MessageBody": "m"}
    for name, entries in (("EmptyBatchRequest", []), ("BatchEntryIdsNotDistinct", [entry, entry]),
                          ("TooManyEntriesInBatchRequest", [{**entry, "Id": str(n)} for n in range(11)])):
        said = refused(f"AWS.SimpleQueueService.{name}", sqs.send_message_batch, QueueUrl=url, Entries=entries)
        equal(isinstance(said, getattr(sqs.exceptions, name)), True, f"typed error {name}")
    said = refused("ReceiptHandleIsInvalid", sqs.delete_message, QueueUrl=url, ReceiptHandle="no-such-handle")
    equal(isinstance(said, sqs.exceptions.ReceiptHandleIsInvalid), True, "typed error ReceiptHandleIsInvalid")


def signature():
    right = os.environ["AWS_ACCESS_KEY_ID"]
    wrong = client(aws_access_key_id=right, aws_secret_access_key="wrong")
    refused("SignatureDoesNotMatch", wrong.list_queues)
    unknown = client(aws_access_key_id="AKIAUNKNOWN", aws_secret_access_key="wrong")
    refused("InvalidClientTokenId", unknown.list_queues)


CHECKS = [send, batch, visibility, queue, attributes, fifo, dead_letters, move_task, long_poll, tags, paging, errors,
          signature]


def main(wanted):
    for check in CHECKS:
        if wanted and check.__name__ not in wanted:
            continue
        try:
            check()
            why = None
        except Exception as error:  # whatever it is, the next check has its turn
            why = f"{type(error).__name__}: {error}" if not isinstance(error, AssertionError) else str(error)
        print(json.dumps({"check": check.__name__, "ok": why is None, "why": why or ""}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
