"""Which plots a report has: {file name: SVG}."""
from . import plot
from .numbers import distribution, figure, time_of
from .results import median
from .scenarios import SCENARIOS

LEAST = 0.1  # MiB: less is a matter of a few pages


def figures(summary):
    names = sorted({name for cells in summary.values() for name in cells})
    out = {}

    def bars(file, title, scenario, metric, say, descending):
        rows = [(name, cell[metric]) for name, cell in summary.get(scenario, {}).items() if cell[metric]]
        rows.sort(key=lambda row: row[1]["median"], reverse=descending)
        out[file] = plot.bars(title, rows, say, names)

    bars("throughput", "Messages a second, a backlog of 256 B messages", "saturated", "rate", figure, True)
    bars("cpu", "CPU microseconds a message, a backlog of 256 B messages", "saturated", "cpu_us", figure, False)
    bars("requests-10", "Requests a message at 10 % load", "load-10", "requests", figure, False)
    bars("requests", "Requests a message, a backlog", "saturated", "requests", figure, False)
    bars("idle", "Requests an hour of an idle consumer", "idle", "requests_per_hour", figure, False)
    for percent in (10, 50, 80):
        series = {name: distribution(cell["handler_us"]) for name, cell in summary.get(f"load-{percent}", {}).items()
                  if cell["handler_us"]}
        out[f"latency-{percent}"] = plot.lines(f"From send to handler, at {percent} % of its capacity", series,
                                               "share of the messages", plot.NINES, plot.by_nines, time_of, names)
    out["memory"] = memory(summary, names)
    return {name: drawn for name, drawn in out.items() if drawn}


def memory(summary, names):
    series, counts = {}, []
    for name, scenario in SCENARIOS.items():
        if scenario.kind != "held" or name not in summary:
            continue
        counts.append(scenario.in_flight)
        for contender, cell in summary[name].items():
            reached, above = median(cell, "reached"), median(cell, "above_idle")
            if reached and above is not None:
                series.setdefault(contender, []).append((reached, max(above / 2**20, LEAST)))
    if len(counts) < 2:
        return None
    low, high = plot.math.log10(min(counts)), plot.math.log10(max(counts))

    def places(count):
        return min(1.0, max(0.0, (plot.math.log10(max(1, count)) - low) / (high - low)))
    return plot.lines(f"Memory above idle, MiB ({LEAST} and less as {LEAST}), over messages in flight", series, "messages in flight",
                      [(count, f"{count:,}") for count in counts], places, figure, names)
