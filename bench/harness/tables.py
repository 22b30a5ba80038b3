"""The tables: the same rows for the terminal, for Markdown and for HTML."""
import html
import re

from .numbers import figure, percentiles, time_of, with_spread
from .results import median
from .scenarios import SCENARIOS

MIB = 1 / 2**20


def spread_of(metric, scale=1.0):
    return lambda cell: with_spread(cell[metric], scale)


def latency_of(name):
    shares = (0.5, 0.99, 0.999)
    return lambda cell: " / ".join(time_of(value) for value in percentiles(cell[name], shares))


def share_of(metric):
    return lambda cell: "-" if median(cell, metric) is None else f"{median(cell, metric):.0%}"


RATE = ("messages/s", spread_of("rate"))
CPU = ("CPU us a message", spread_of("cpu_us"))
KERNEL = ("kernel's share", share_of("kernel"))
PER_CPU = ("messages a CPU second", spread_of("per_cpu_second"))
REQUESTS = ("requests a message", spread_of("requests"))
SERVER = ("server busy", share_of("server_busy"))
RESIDENT = ("memory MiB", spread_of("resident", MIB))


def columns(scenario):
    """[(heading, what it says of a cell)]"""
    if scenario.kind == "idle":
        return [("CPU s an hour", spread_of("cpu_per_hour")), ("requests an hour", spread_of("requests_per_hour")),
                ("connections", spread_of("connections")), RESIDENT]
    if scenario.kind == "start":
        return [("ms to the first message", spread_of("start_ms")), ("CPU ms until then", spread_of("start_cpu_ms"))]
    if scenario.kind == "held":
        return [("reached", spread_of("reached")), ("MiB above idle", spread_of("above_idle", MIB)), RESIDENT]
    if scenario.arrives:
        return [("offered/s", spread_of("offered")), RATE, CPU, REQUESTS,
                ("to handler p50 / p99 / p99.9", latency_of("handler_us")),
                ("to deleted p50 / p99 / p99.9", latency_of("deleted_us")), SERVER]
    extra = []
    if scenario.relayed:
        extra = [RESIDENT]
    if scenario.handler_ms:
        extra = [("in flight", spread_of("in_flight")), RESIDENT]
    if scenario.delay_ms:
        extra = [("allowed in flight", spread_of("allowed")), ("in flight", spread_of("in_flight"))]
    if scenario.fail_one_in:
        extra = [("came again", share_of("redelivered"))]
    return [RATE, CPU, KERNEL, PER_CPU, REQUESTS, *extra, SERVER]


def rows(scenario, cells):
    """The heading and a row for each contender, the last column with what to know of it."""
    said = columns(scenario)
    table = [["contender", *(heading for heading, _ in said), "remarks"]]
    for name, cell in cells.items():
        table.append([name, *(value(cell) for _, value in said), "; ".join(cell["flags"])])
    if not any(row[-1] for row in table[1:]):
        table = [row[:-1] for row in table]
    return table


def of_summary(summary):
    """[(scenario, rows)] in the usual order."""
    return [(scenario, rows(scenario, summary[name])) for name, scenario in SCENARIOS.items() if name in summary]


def of_verdicts(verdicts):
    return [["what", "target", "measured", ""], *([v.what, v.target, v.measured, v.word] for v in verdicts)]


def of_contenders(result):
    return [["contender", "version", "command"],
            *([c["name"], c["told"] or c["version"], c["command"]] for c in result["contenders"])]


def text(table):
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    numeric = [i for i in range(1, len(table[0])) if table[0][i] != "remarks" and all(
        row[i][:1].isdigit() or row[i] == "-" for row in table[1:])]
    lines = []
    for row in table:
        lines.append("  ".join(word.rjust(width) if i in numeric else word.ljust(width)
                               for i, (word, width) in enumerate(zip(row, widths))).rstrip())
    return "\n".join(lines)


def markdown(table):
    def line(row):
        return "| " + " | ".join(word.replace("|", "\\|") for word in row) + " |"
    return "\n".join([line(table[0]), "|" + "---|" * len(table[0]), *map(line, table[1:])])


def as_html(table):
    def line(row, tag):
        return "<tr>" + "".join(f"<{tag}>{html.escape(word)}</{tag}>" for word in row) + "</tr>"
    body = "".join(line(row, "td") for row in table[1:])
    return f"<div class=table><table><thead>{line(table[0], 'th')}</thead><tbody>{body}</tbody></table></div>"


def machine(result):
    it = result["machine"]
    kernel = re.match(r"[0-9]+(\.[0-9]+){0,2}|", it["kernel"])[0]  # what follows is the host's own name for it
    return (f"{it['cpu']}, {it['cores']} cores, {figure(it['memory_mib'] / 1024)} GiB, {it['system']}, Linux {kernel}; "
            f"server on core {','.join(map(str, result['pins']['server']))}, "
            f"clients on core {','.join(map(str, result['pins']['one']))}, with two threads on cores "
            f"{','.join(map(str, result['pins']['two']))}"
            f"{f' ({told})' if (told := result['pins']['remark']) else ''}")
