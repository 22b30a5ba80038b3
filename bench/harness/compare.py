"""Two results side by side: for each scenario and contender what the second has of the first, as ratios."""
from .numbers import figure, time_of
from .results import DISTURBED, median, percentile, summary
from .scenarios import SCENARIOS

# (heading, metric, more of it is better)
METRICS = (("messages/s", "rate", True), ("CPU us a message", "cpu_us", False), ("requests a message", "requests", False),
           ("MiB above idle", "above_idle", False), ("requests an hour", "requests_per_hour", False),
           ("ms to the first message", "start_ms", False))
LATENCIES = (("p50 to handler", "handler_us", 0.5), ("p99 to handler", "handler_us", 0.99))
NOISE = 0.05  # less than this is no difference, on the quietest machine


def said(before, after, more_is_better, write=figure):
    times = after / before
    verdict = "same" if abs(times - 1) < NOISE else "better" if (times > 1) == more_is_better else "worse"
    return [write(before), write(after), f"{figure(times)} x", verdict]


def rows_of(scenario, contender, old, new):
    remark = "disturbed" if max(median(old, "others_busy") or 0, median(new, "others_busy") or 0) > DISTURBED else ""
    for heading, metric, more in METRICS:
        scale = 2**-20 if metric == "above_idle" else 1
        before, after = median(old, metric), median(new, metric)
        if before and after is not None:
            yield [scenario, contender, heading, *said(before * scale, after * scale, more), remark]
    for heading, name, share in LATENCIES:
        before, after = percentile(old, name, share), percentile(new, name, share)
        if before and after is not None:
            yield [scenario, contender, heading, *said(before, after, False, time_of), remark]


def table(first, second):
    """Every figure that both have, with who of them has it."""
    old, new = summary(first["runs"]), summary(second["runs"])
    out = [["scenario", "contender", "what", "before", "after", "ratio", "", "remarks"]]
    for scenario in (name for name in SCENARIOS if name in old and name in new):
        for contender in (name for name in old[scenario] if name in new[scenario]):
            out += rows_of(scenario, contender, old[scenario][contender], new[scenario][contender])
    return out


def caution(first, second):
    """What makes the two hard to compare; empty: nothing."""
    if first["machine"] == second["machine"]:
        return ""
    return ("The machines differ, so compare how contenders stand to each other, not one with itself: "
            f"{first['machine']['cpu']} and {second['machine']['cpu']}, Linux {first['machine']['kernel']} and "
            f"{second['machine']['kernel']}.")
