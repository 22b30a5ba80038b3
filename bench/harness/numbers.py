"""Figures out of figures: medians with their spread, percentiles out of buckets, and how numbers are written."""
import statistics

HOUR = 3_600_000_000  # in microseconds


def spread(values):
    """{median, least, most, n} of the values that there are, None when there are none."""
    there = [value for value in values if value is not None]
    if not there:
        return None
    return {"median": statistics.median(there), "least": min(there), "most": max(there), "n": len(there)}


def measured(buckets):
    """Latencies by their least microsecond, without those of the warm-up: its messages say that they were due in 1970."""
    return {int(floor): count for floor, count in buckets.items() if int(floor) < HOUR}


def merged(several):
    total = {}
    for buckets in several:
        for floor, count in buckets.items():
            total[int(floor)] = total.get(int(floor), 0) + count
    return total


def percentile(buckets, share):
    """The bucket in which that share of the counts is reached; None when nothing was counted."""
    total = sum(buckets.values())
    if total == 0:
        return None
    seen = 0
    for floor in sorted(buckets):
        seen += buckets[floor]
        if seen >= share * total:
            return floor
    return max(buckets)


def percentiles(buckets, shares):
    """Of each share, or None where that is beyond the slowest of all."""
    total = sum(buckets.values())
    return [percentile(buckets, share) if total * (1 - share) >= 0.999 else None for share in shares]


def distribution(buckets):
    """[(share of the messages, microseconds that they took at the most)], for drawing.

    The slowest of n stands for the last nth, so a curve ends where there is nothing more to know.
    """
    total, seen, points = sum(buckets.values()), 0, []
    for floor in sorted(buckets):
        seen += buckets[floor]
        points.append(((seen - 0.5) / total, floor))
    return points


def figure(value, digits=3):
    """A number as people read it: 3 digits that count, thousands apart."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    if abs(value) >= 10 ** digits:
        scale = 10 ** (len(str(int(abs(value)))) - digits)
        return f"{round(value / scale) * scale:,.0f}"
    places = max(0, digits - 1 - (len(str(int(abs(value)))) - 1 if abs(value) >= 1 else 0))
    if abs(value) < 1:
        return f"{value:.{digits}g}" if abs(value) >= 0.001 else f"{value:.1e}"
    return f"{value:.{places}f}"


def time_of(microseconds):
    if microseconds is None:
        return "-"
    for limit, unit, size in ((1_000, "us", 1), (1_000_000, "ms", 1_000), (float("inf"), "s", 1_000_000)):
        if microseconds < limit:
            return f"{figure(microseconds / size, 2) if microseconds else 0} {unit}"


def with_spread(numbers, scale=1.0):
    """`12.3 (11.9..12.8)`, or the figure alone where there was one round."""
    if numbers is None:
        return "-"
    middle = figure(numbers["median"] * scale)
    if numbers["n"] == 1:
        return middle
    return f"{middle} ({figure(numbers['least'] * scale)}..{figure(numbers['most'] * scale)})"
