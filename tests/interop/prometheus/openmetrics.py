"""Reads one page of metrics in both forms, each by its own parser, and says where they differ: openmetrics.py PLAIN OPENMETRICS"""
import sys
from pathlib import Path

from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as plain

# Numbers that stay what they are from one scrape to the next, while no message comes; and series that may be new in the second.
STILL = ("quern_messages_", "quern_handler_failures", "quern_process_duration", "quern_dwell", "quern_wait", "quern_settle", "quern_leases",
         "quern_queue_messages", "quern_dead_letter_messages", "quern_build_info")
NEW = ("quern_request",)


def samples(families):
    """{(name, labels): value}; a bucket's bound is written with a point in one of them."""
    out = {}
    for family in families:
        assert family.documentation and family.type != "unknown", family
        for sample in family.samples:
            labels = {name: str(float(value)) if name == "le" else value for name, value in sample.labels.items()}
            out[sample.name, *sorted(labels.items())] = sample.value
    return out


first, second = (samples(parse(Path(path).read_text())) for parse, path in zip((plain, openmetrics), sys.argv[1:]))
assert len(first) > 100, len(first)
assert sum(key[0].startswith(STILL) for key in first) > 80
wrong = [f"{key} is in one of them" for key in first.keys() ^ second.keys() if not key[0].startswith(NEW)]
wrong += [f"{key}: {first[key]} and {second[key]}" for key in first.keys() & second.keys()
          if first[key] != second[key] and key[0].startswith(STILL)]
sys.exit("; ".join(wrong[:5]) or 0)
