"""Runs put together: for each scenario and contender the median of its rounds, with their spread."""
from . import numbers

METRICS = ("rate", "cpu_us", "kernel", "per_cpu_second", "requests", "server_busy", "others_busy", "resident",
           "above_idle", "reached", "in_flight", "redelivered", "refused", "behind_us", "offered",
           "allowed", "filling", "cold", "cpu_per_hour", "requests_per_hour", "connections", "start_ms", "start_cpu_ms")
LATENCIES = ("handler_us", "deleted_us")

BUSY = 0.9  # of the server: above it, the server may be what was measured
DISTURBED = 0.15  # of a core, by processes that do not belong to the run
BEHIND = 500_000  # microseconds: the oldest message that nobody has received when the window ends


def summary(runs):
    """{scenario: {contender: {metric: spread, handler_us: buckets, …, flags: [text]}}}"""
    out = {}
    for run in runs:
        out.setdefault(run["scenario"], {}).setdefault(run["contender"], []).append(run)
    return {scenario: {contender: one(rounds) for contender, rounds in found.items()} for scenario, found in out.items()}


def one(rounds):
    good = [run for run in rounds if not run.get("error")]
    cell = {metric: numbers.spread([run.get(metric) for run in good]) for metric in METRICS}
    for name in LATENCIES:
        cell[name] = numbers.merged([run[name] for run in good if name in run])
    cell["errors"] = [run["error"] for run in rounds if run.get("error")]
    cell["flags"] = flags(cell)
    return cell


def median(cell, metric):
    """Of a cell that may not be there."""
    return cell[metric]["median"] if cell and cell.get(metric) else None


def flags(cell):
    """What a reader has to know of a row before believing it."""
    found = [f"failed: {why}" for why in cell["errors"]]
    if (median(cell, "server_busy") or 0) > BUSY:
        found.append(f"server {median(cell, 'server_busy'):.0%} busy: it may be the limit")
    if (median(cell, "others_busy") or 0) > DISTURBED:
        found.append(f"other processes took {median(cell, 'others_busy'):.0%} of a core")
    if (median(cell, "behind_us") or 0) > BEHIND:
        found.append(f"fell {numbers.time_of(median(cell, 'behind_us'))} behind the arrivals")
    if median(cell, "filling"):
        found.append("had not yet done as many messages as it may hold")
    if median(cell, "cold"):
        found.append("measured while its code was still being compiled")
    if median(cell, "refused"):
        found.append("deleted with handles that nobody was given")
    if median(cell, "rate") == 0:
        found.append("deleted nothing")
    return found


def percentile(cell, name, share):
    return numbers.percentile(cell[name], share) if cell and cell.get(name) else None
