"""AWS's own cases as first inputs for the targets: read where they lie beside the tree, never copied into it."""

import hashlib
import json
from pathlib import Path

CASES = Path(__file__).resolve().parent.parent.parent.parent / "shared" / "conformance"
OPERATIONS = ["SendMessage", "SendMessageBatch", "ReceiveMessage", "CreateQueue", "ChangeMessageVisibilityBatch", "DeleteMessageBatch"]
ANSWERS = ["SendMessage", "SendMessageBatch", "DeleteMessageBatch", "ListQueues", "GetQueueAttributes", "ListMessageMoveTasks", "ReceiveMessage"]


def read(place):
    return json.loads((CASES / place).read_text(encoding="utf-8"))


def strings(value, key=None):
    """All texts in a JSON value; of this key only, where one is given."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if isinstance(inner, str) and key in (None, name):
                yield inner
            else:
                yield from strings(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner, key)
    elif isinstance(value, str) and key is None:
        yield value


def traffic():
    """Requests to SQS and their answers, as (operation, request, answer)."""
    for file in sorted(CASES.glob("08-recorded-sqs-traffic/sqslite/*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            step = json.loads(line)
            yield step["RequestHeaders"]["X-Amz-Target"].split(".")[-1], step["RequestBody"], step["ResponseBody"]


def http_requests():
    for file in sorted(CASES.glob("01-sigv4/v4/*/*request.txt")):
        yield "\x07" + file.read_text(encoding="utf-8").replace("\n", "\r\n")


def signatures():
    for file in sorted(CASES.glob("01-sigv4/v4/*/*-signed-request.txt")):
        lines = file.read_text(encoding="utf-8").splitlines()
        target = lines[0].partition(" ")[2].rpartition(" ")[0]
        yield target + "\n" + "".join(line.partition(":")[2] for line in lines if line.lower().startswith("authorization:"))


def profiles():
    for test in read("02-config-profile/profile-parser-tests.json")["tests"]:
        files = test["input"]
        yield files.get("configFile", "") + "\x1e" + files.get("credentialsFile", "")
    for file in sorted(CASES.glob("03-credentials/**/.aws/config")):
        yield file.read_text(encoding="utf-8") + "\x1e"


def credentials():
    for file in sorted(CASES.glob("03-credentials/**/http-traffic.json")):
        yield from strings(json.loads(file.read_text(encoding="utf-8")), "Utf8")


def documents():
    return (body for body in credentials() if body.startswith("<"))


def endpoints():
    for kind, flag in (("sqs", 0), ("sts", 8)):
        for test in read(f"04-endpoints/{kind}-endpoint-tests.json")["testCases"]:
            asked = test["params"]
            flags = flag | bool(asked.get("UseFIPS")) | 2 * bool(asked.get("UseDualStack")) | 4 * bool(asked.get("UseGlobalEndpoint"))
            yield chr(flags) + asked.get("Region", "") + "\n" + asked.get("Endpoint", "")


def urls():
    for place in ("03-credentials/ecs-tests.json", "03-credentials/imds-endpoint-tests.json", "02-config-profile/endpoint-url-tests.json"):
        for text in strings(read(place)):
            if "://" in text:
                yield text


def contexts():
    for test in read("02-config-profile/recursion-detection.json"):
        yield from test["env"].values()


def json_requests():
    for operation, request, _ in traffic():
        if operation in OPERATIONS:
            yield chr(OPERATIONS.index(operation)) + request


def json_answers():
    for operation, _, answer in traffic():
        if operation in ANSWERS:
            yield chr(ANSWERS.index(operation)) + answer


def days_of_a_broker():
    all_operations = sorted(read("05-sqs-model/service-2.json")["operations"])
    for operation, request, _ in traffic():
        yield chr(ord("A") + all_operations.index(operation)) + request + "\n"


def errors():
    for fact in read("08-recorded-sqs-traffic/error-facts.json"):
        body = {"__type": "com.amazonaws.sqs#" + str(fact["query_error_code_or_sender_fault"]), "message": fact["message"]}
        yield f"{fact['code']};Sender\n{json.dumps(body)}"


def digests():
    for vector in read("09-message-md5/vectors.json")["attribute_vectors"]:
        for name, value in vector["attributes"].items():
            text = value.get("StringValue") or value.get("BinaryValue") or ""
            yield chr(len(name[:5]) - 1) + chr(len(text) % 40) + name[:5] + text[:40]


def hints():
    for case in read("07-retry/retry-after-2.1.json"):
        yield case["x_amz_retry_after"]


TEXTS = {
    "attribute_digests": digests,
    "broker": days_of_a_broker,
    "credentials_json": credentials,
    "endpoint_rules": endpoints,
    "error_answer": errors,
    "http_request": http_requests,
    "json_answer": json_answers,
    "json_request": json_requests,
    "profile": profiles,
    "retry_after": hints,
    "signature": signatures,
    "trace_context": contexts,
    "urls": urls,
    "xml": documents,
}


def write(target, folder):
    """Writes a target's first inputs, a file each; returns how many there are."""
    if target not in TEXTS or not CASES.is_dir():
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    texts = {text.encode("utf-8") for text in TEXTS[target]()}
    for text in texts:
        (folder / hashlib.sha1(text).hexdigest()).write_bytes(text)
    return len(texts)
