"""A Lambda function: answers its first event of a body as the body says, and the second one well. Of several messages in an event
those fail whose body begins with "fail", the first time."""


def failures(records):
    failed = [r for r in records if r["body"].startswith("fail") and r["attributes"]["ApproximateReceiveCount"] == "1"]
    return {"batchItemFailures": [{"itemIdentifier": r["messageId"]} for r in failed]}


def handler(event, context):
    if len(event["Records"]) > 1 or event["Records"][0]["body"].startswith(("fail ", "fine ")):
        return failures(event["Records"])
    record = event["Records"][0]
    itself = {"itemIdentifier": record["messageId"]}
    if record["attributes"]["ApproximateReceiveCount"] != "1":
        return {"batchItemFailures": []}
    if record["body"] == "raises":
        raise ValueError("no such order")
    return {
        "null": None, "nothing": {}, "no failures": {"batchItemFailures": []}, "null failures": {"batchItemFailures": None},
        "itself": {"batchItemFailures": [itself]}, "empty id": {"batchItemFailures": [{"itemIdentifier": ""}]},
        "null id": {"batchItemFailures": [{"itemIdentifier": None}]},
        "unknown id": {"batchItemFailures": [itself, {"itemIdentifier": "x"}]},
        "no id": {"batchItemFailures": [{"identifier": record["messageId"]}]},
        "no list": {"batchItemFailures": record["messageId"]}, "no object": [record["messageId"]],
    }[record["body"]]
