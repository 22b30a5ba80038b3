"""Handles one order with Powertools, and prints what became of it, as JSON: "ran", "stored" with the result, "in progress",
"mismatch".

usage: powertools.py TABLE PREFIX BODY [hold]     hold: says "holding" in its function, and goes on at a line of standard input
"""
import json
import sys
from types import SimpleNamespace

import boto3
from aws_lambda_powertools.utilities.idempotency import (DynamoDBPersistenceLayer, IdempotencyConfig, exceptions,
                                                         idempotent_function)

table, prefix, body, *hold = sys.argv[1:]
ran = []


def say(said, **more):
    print(json.dumps({"said": said, **more}), flush=True)


context = SimpleNamespace(get_remaining_time_in_millis=lambda: 60_000)
config = IdempotencyConfig(event_key_jmespath="id", payload_validation_jmespath="amount", lambda_context=context)
rows = DynamoDBPersistenceLayer(table_name=table, boto3_client=boto3.client("dynamodb"))


@idempotent_function(data_keyword_argument="order", persistence_store=rows, config=config, key_prefix=prefix)
def handle(order):
    ran.append(order)
    if hold:
        say("holding")
        sys.stdin.readline()
    return {"did": order["id"], "by": "python"}


try:
    result = handle(order=json.loads(body))
    say("ran" if ran else "stored", result=result)
except exceptions.IdempotencyAlreadyInProgressError:
    say("in progress")
except exceptions.IdempotencyValidationError:
    say("mismatch")
