"""Reads a dashboard into Grafana's own models and writes it again: what does not come back, Grafana does not know. grafana.py FILE"""
import json
import sys

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard


def lost(ours, theirs, at=""):
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [why for name in ours for why in (
            lost(ours[name], theirs[name], f"{at}/{name}") if name in theirs else [f"{at}/{name} is unknown"])]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return [why for n, (one, other) in enumerate(zip(ours, theirs)) for why in lost(one, other, f"{at}/{n}")]
    return [] if ours == theirs else [f"{at}: {theirs!r} instead of {ours!r}"]


def read_and_written(board):
    return json.loads(JSONEncoder().encode(Dashboard.from_json(board)))


register_default_plugins()
with open(sys.argv[1], encoding="utf-8") as file:
    dashboard = json.load(file)
strange = {**dashboard, "timezoned": "utc"}
assert lost(strange, read_and_written(strange)) == ["/timezoned is unknown"]  # so it would be noticed
sys.exit("; ".join(lost(dashboard, read_and_written(dashboard))[:5]) or 0)
