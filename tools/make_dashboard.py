#!/usr/bin/env python3
"""Makes docs/examples/grafana-dashboard.json, the dashboard of Grafana over the metrics of `--admin-port`: the queries are below,
the rest of what Grafana wants is added.

usage: make_dashboard.py           write it
       make_dashboard.py --check   say whether it is as it would be written
"""

import json
import sys
from pathlib import Path

PLACE = Path(__file__).resolve().parent.parent / "docs/examples/grafana-dashboard.json"
WIDEST = 118
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
OURS = 'job=~"$job",queue=~"$queue"'
CLIENTS = 'job=~"$job"'  # requests have no queue: several consumers may share a client
RATE = "[$__rate_interval]"


def of(metric, more="", who=OURS):
    return metric + "{" + ",".join(part for part in (who, more) if part) + "}"


def rate(metric, by, more="", who=OURS):
    return f"sum by ({by}) (rate({of(metric, more, who)}{RATE}))"


def quantile(part, metric, by, more="", who=OURS):
    return f"histogram_quantile({part}, {rate(metric + '_bucket', by + ', le', more, who)})"


def quantiles(metric, by="queue"):
    return [(quantile(part, metric, by), f"{{{{queue}}}} {name}") for part, name in ((0.5, "half"), (0.95, "95 %"), (0.99, "99 %"))]


def targets(queries, form):
    return [{"refId": chr(ord("A") + n), "datasource": SOURCE, "expr": expression, "legendFormat": legend, "format": form,
             "range": True, "editorMode": "code"} for n, (expression, legend) in enumerate(queries)]


def steps(*pairs):
    return {"mode": "absolute", "steps": [{"color": color, "value": value} for color, value in pairs]}


def drawn(kind, width, title, meaning, queries, unit, defaults=None, options=None, form="time_series"):
    """A panel but for its id and place."""
    return {"type": kind, "width": width, "title": title, "description": meaning, "datasource": SOURCE,
            "fieldConfig": {"defaults": {"unit": unit, **(defaults or {})}, "overrides": []},
            "options": options or {}, "targets": targets(queries, form)}


def curves(width, title, meaning, queries, unit="short", stacked=False, **defaults):
    custom = {"drawStyle": "line", "lineWidth": 1, "fillOpacity": 30 if stacked else 8, "showPoints": "never", "spanNulls": False}
    if stacked:
        custom["stacking"] = {"mode": "normal", "group": "A"}
    return drawn("timeseries", width, title, meaning, queries, unit, {"min": 0, "custom": custom, **defaults},
                 {"legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
                  "tooltip": {"mode": "multi", "sort": "desc"}})


def number(width, title, meaning, query, unit="short", alarming=None, **defaults):
    levels = steps(("green", None), *([("red", alarming)] if alarming is not None else []))
    return drawn("stat", width, title, meaning, [(query, "{{queue}}")], unit, {"thresholds": levels, "color": {"mode": "thresholds"}, **defaults},
                 {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}, "colorMode": "value",
                  "graphMode": "area", "justifyMode": "auto", "orientation": "auto", "textMode": "auto"})


def states(width, title, meaning, queries, names):
    """`names`: (value, text, color) each."""
    mappings = [{"type": "value", "options": {str(value): {"text": text, "color": color, "index": n}
                                              for n, (value, text, color) in enumerate(names)}}]
    return drawn("state-timeline", width, title, meaning, queries, "short",
                 {"mappings": mappings, "color": {"mode": "thresholds"}, "thresholds": steps(("green", None), ("orange", 1)),
                  "custom": {"fillOpacity": 70, "lineWidth": 0}},
                 {"mergeValues": True, "showValue": "auto", "alignValue": "left", "rowHeight": 0.8,
                  "legend": {"displayMode": "list", "placement": "bottom", "showLegend": False},
                  "tooltip": {"mode": "single", "sort": "none"}})


def heatmap(width, title, meaning, query):
    return drawn("heatmap", width, title, meaning, [(query, "{{le}}")], "short", options={
        "calculate": False, "cellGap": 1, "cellValues": {"unit": "mps"}, "yAxis": {"axisPlacement": "left", "unit": "s"},
        "rowsFrame": {"layout": "auto"}, "filterValues": {"le": 1e-9}, "showValue": "never", "legend": {"show": True},
        "color": {"mode": "scheme", "scheme": "Blues", "fill": "blue", "scale": "exponential", "exponent": 0.5, "steps": 64, "reverse": False},
        "exemplars": {"color": "rgba(255,0,255,0.7)"}},
        form="heatmap")


# All consumers of a queue ask SQS for the same counts, so the highest of them counts, and their sum would be wrong.
def depth(metric, by, more=""):
    return f"max by ({by}) ({of(metric, more)})"


# The worst state that a breaker of the queue is in, as a number.
BREAKER = "max by (queue) (" + " or ".join(
    f"({of('quern_breaker_state', f'state={chr(34)}{state}{chr(34)}')} > bool 0) * {worth}"
    for worth, state in enumerate(("closed", "half_open", "open"))) + ")"

ROWS = (
    ("At a glance", 4, (
        number(4, "Handled and deleted", "Messages a second whose deletion SQS has confirmed.",
               rate("quern_messages_settled_total", "queue", 'outcome="acked"'), "mps"),
        number(4, "Wait in the queue", "Visible messages, as SQS says, approximately; asked for once a minute.",
               depth("quern_queue_messages", "queue", 'state="visible"')),
        number(4, "Full", "Messages held, as a part of max_in_flight: at 100 % for long, more consumers, or a higher limit, would do more.",
               f"avg by (queue) ({of('quern_saturation_ratio')})", "percentunit", min=0, max=1),
        number(4, "Oldest held", "For how long the message that a consumer has held longest is there.",
               f"time() - min by (queue) ({of('quern_oldest_in_flight_timestamp_seconds')})", "s", noValue="none"),
        number(4, "Dead letters", "Each is work that was given up: `quern dead-letters` shows them.",
               depth("quern_dead_letter_messages", "queue, dead_letter_queue", 'state="visible"'), alarming=1, noValue="no queue"),
        states(4, "Breaker", "What the handlers depend on: up, or down.", [(BREAKER, "{{queue}}")],
               ((0, "closed", "green"), (1, "half open", "orange"), (2, "open", "red"))))),
    ("Throughput", 8, (
        curves(8, "Messages received and settled", "By what became of them. More retried than acked: see Failures.",
               [(rate("quern_messages_received_total", "queue"), "{{queue}} received"),
                (rate("quern_messages_settled_total", "queue, outcome"), "{{queue}} {{outcome}}")], "mps"),
        curves(8, "Receives", "Many empty ones: the queue has less than there are receives for. Failed ones: the log has the error.",
               [(rate("quern_receives_total", "queue, result"), "{{queue}} {{result}}")], "reqps", stacked=True),
        curves(8, "Requests to SQS", "What SQS charges for, but for retries, of all queues of the job.",
               [(rate("quern_requests_total", "operation", who=CLIENTS), "{{operation}}")], "reqps", stacked=True))),
    ("Latency", 9, (
        heatmap(12, "Time in the handler", "Messages a second by how long their handler took.",
                rate("quern_process_duration_seconds_bucket", "le")),
        curves(12, "Time in the handler, by part", "Half, 95 % and 99 % of the messages took no longer than this.",
               quantiles("quern_process_duration_seconds"), "s"),
        curves(8, "From sending to handler", "Time in the queue and here, earlier tries included: what a user waits.",
               quantiles("quern_dwell_seconds"), "s"),
        curves(8, "Here, beside the handler", "99 % wait no longer for a handler, and to be settled afterwards. Long waits: too much is held.",
               [(quantile(0.99, "quern_wait_seconds", "queue"), "{{queue}} waited"),
                (quantile(0.99, "quern_settle_seconds", "queue"), "{{queue}} settling")], "s"),
        curves(8, "Requests to SQS, 99 %", "Without receives, which wait for messages on purpose.",
               [(quantile(0.99, "quern_request_duration_seconds", "operation", 'operation!="ReceiveMessage"', CLIENTS), "{{operation}}")], "s"))),
    ("In flight and leases", 8, (
        curves(8, "Held, handled, received", "Messages held and at work, and receives under way, with the limit of what is held.",
               [(f"sum by (queue) ({of('quern_in_flight_messages')})", "{{queue}} held"),
                (f"sum by (queue) ({of('quern_handlers_running')})", "{{queue}} in a handler"),
                (f"sum by (queue) ({of('quern_receives_open')})", "{{queue}} receives"),
                (f"sum by (queue) ({of('quern_limit', 'what=' + chr(34) + 'messages' + chr(34))})", "{{queue}} limit")]),
        curves(5, "Full", "Of each consumer, the messages held as a part of max_in_flight.",
               [(of("quern_saturation_ratio"), "{{queue}} {{instance}}")], "percentunit", max=1),
        curves(5, "Bytes held", "Bodies and attributes of the messages held.",
               [(f"sum by (queue) ({of('quern_in_flight_bytes')})", "{{queue}}")], "bytes"),
        curves(6, "Leases", "Extensions belong to handlers that take long. One that was lost may have been handled twice.",
               [(rate("quern_leases_extended_total", "queue"), "{{queue}} extended"), (rate("quern_leases_lost_total", "queue"), "{{queue}} lost")],
               "ops"))),
    ("Outage", 8, (
        states(8, "Breakers", "Half open: what the handlers depend on seems to be down, and a tenth of the work goes on. Open: a flag says so.", [(BREAKER, "{{queue}}")],
               ((0, "closed", "green"), (1, "half open", "orange"), (2, "open", "red"))),
        states(8, "What is in the way of the next receive", "By how many consumers it holds back. max_in_flight and empty_answers are no trouble.",
               [(f"count by (queue, what) ({of('quern_obstacle')} == 1)", "{{queue}} {{what}}")], ()),
        curves(4, "Changes of breakers", "A breaker that is half open again and again: something comes and goes.",
               [(f"sum by (queue, to) (increase({of('quern_breaker_transitions_total')}[5m]))", "{{queue}} {{to}}")]),
        curves(4, "The flag from outside", "1: it halts the work; and for how long it could not be read.",
               [(f"max by (queue) ({of('quern_flag_halted')})", "{{queue}} halted"),
                (f"time() - max by (queue) ({of('quern_flag_read_timestamp_seconds')})", "{{queue}} s since it was read")]))),
    ("Failures", 8, (
        curves(8, "Handlers that failed", "By how they ended.",
               [(rate("quern_handler_failures_total", "queue, kind"), "{{queue}} {{kind}}")], "ops", stacked=True),
        curves(8, "Messages with a fault", "Rejected, without a form that the handler knows, damaged on the way, or put off by an outage on their last receive.",
               [(rate("quern_messages_settled_total", "queue", 'outcome="rejected"'), "{{queue}} rejected"),
                (rate("quern_messages_malformed_total", "queue"), "{{queue}} malformed"),
                (rate("quern_messages_damaged_total", "queue"), "{{queue}} damaged"),
                (rate("quern_messages_spilled_total", "queue"), "{{queue}} spilled"),
                (rate("quern_messages_adopted_total", "queue"), "{{queue}} came twice, handled once")], "ops"),
        curves(8, "Requests that failed", "Of all queues of the job, and exports of these numbers to elsewhere.",
               [(rate("quern_requests_total", "operation, result", 'result!="ok"', CLIENTS), "{{operation}} {{result}}"),
                (rate("quern_telemetry_dropped_total", "signal", who=CLIENTS), "{{signal}} not exported")], "ops"))),
    ("Queue", 8, (
        curves(12, "Depth", "Messages in the queue, as SQS says, approximately. Not visible ones are held by somebody.",
               [(depth("quern_queue_messages", "queue, state"), "{{queue}} {{state}}")]),
        curves(12, "Age", "How old the messages were that are handled now; and the time since anything was received or settled: growing while messages "
               "wait, it means that nobody works. Of what still waits SQS tells CloudWatch alone.",
               [(quantile(0.99, "quern_dwell_seconds", "queue"), "{{queue}} 99 % when handled"),
                (f"time() - max by (queue) ({of('quern_last_progress_timestamp_seconds')})", "{{queue}} since progress"),
                (f"time() - min by (queue) ({of('quern_oldest_in_flight_timestamp_seconds')})", "{{queue}} oldest held")], "s"))),
    ("Dead-letter queue", 8, (
        curves(8, "Dead letters", "Not visible ones are being looked at, or redriven.",
               [(depth("quern_dead_letter_messages", "queue, dead_letter_queue, state"), "{{dead_letter_queue}} {{state}}")]),
        curves(8, "On their way there", "Messages that failed and are tried again, were rejected, or were on their last receive in an outage, in five minutes.",
               [(f"sum by (queue) (increase({of('quern_messages_settled_total', 'outcome=' + chr(34) + 'retried' + chr(34))}[5m]))", "{{queue}} tried again"),
                (f"sum by (queue) (increase({of('quern_messages_settled_total', 'outcome=' + chr(34) + 'rejected' + chr(34))}[5m]))", "{{queue}} rejected"),
                (f"sum by (queue) (increase({of('quern_messages_spilled_total')}[5m]))", "{{queue}} spilled")]),
        curves(8, "Redrives", "Of runs of `quern redrive --admin-port`, by dead-letter queue. Failed sends are tried again; what came back failed again.",
               [(rate("quern_redrive_messages_total", "queue, result"), "{{queue}} {{result}}"),
                (rate("quern_redrive_failures_total", "queue"), "{{queue}} failed sends"),
                (rate("quern_redrive_returns_total", "queue"), "{{queue}} came back")], "mps"))),
)


def laid_out(rows):
    """Panels with their ids and places on a grid of 24 columns."""
    out, top = [], 0
    for title, height, panels in rows:
        out.append({"type": "row", "id": len(out) + 1, "title": title, "collapsed": False, "panels": [],
                    "gridPos": {"h": 1, "w": 24, "x": 0, "y": top}})
        top, left = top + 1, 0
        for panel in panels:
            width = panel["width"]
            if left + width > 24:
                top, left = top + height, 0
            place = {"h": height, "w": width, "x": left, "y": top}
            out.append({"id": len(out) + 1, "gridPos": place, **{k: v for k, v in panel.items() if k != "width"}})
            left += width
        top += height
    return out


def variable(name, label, query):
    return {"type": "query", "name": name, "label": label, "datasource": SOURCE,
            "query": {"query": query, "refId": "StandardVariableQuery"}, "refresh": 2, "sort": 1, "multi": True, "includeAll": True,
            "current": {"text": ["All"], "value": ["$__all"]}, "options": [], "regex": "", "hide": 0}


def dashboard():
    return {
        "uid": "quern-consumers", "title": "Quern consumers", "tags": ["quern", "sqs"], "schemaVersion": 39, "version": 1,
        "description": "Consumers of SQS queues, by the metrics of quern's --admin-port.",
        "editable": True, "graphTooltip": 1, "timezone": "browser", "refresh": "30s", "time": {"from": "now-3h", "to": "now"},
        "annotations": {"list": []}, "links": [],
        "templating": {"list": [
            {"type": "datasource", "name": "datasource", "label": "Data source", "query": "prometheus", "current": {}, "options": [],
             "refresh": 1, "regex": "", "multi": False, "includeAll": False, "hide": 0},
            variable("job", "Job", "label_values(quern_build_info, job)"),
            variable("queue", "Queue", 'label_values(quern_messages_received_total{job=~"$job"}, queue)')]},
        "panels": laid_out(ROWS)}


def written(value, indent=0):
    """JSON in which whatever fits has one line."""
    flat = json.dumps(value, ensure_ascii=False)
    if indent + len(flat) <= WIDEST or not isinstance(value, (dict, list)):
        return flat
    inner = " " * (indent + 1)
    if isinstance(value, list):
        return "[\n" + ",\n".join(inner + written(one, indent + 1) for one in value) + "\n" + " " * indent + "]"
    members = [f"{inner}{json.dumps(name)}: {written(one, indent + 1)}" for name, one in value.items()]
    return "{\n" + ",\n".join(members) + "\n" + " " * indent + "}"


def main(arguments):
    text = written(dashboard()) + "\n"
    if arguments == ["--check"]:
        same = PLACE.is_file() and PLACE.read_text(encoding="utf-8") == text
        print("the dashboard is the one that is made" if same else f"{PLACE.name} is out of date: run tools/make_dashboard.py")
        return 0 if same else 1
    PLACE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
