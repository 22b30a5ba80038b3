"""What Quern promises, as rules over a summary: each says what was measured, and whether that will do."""
from dataclasses import dataclass

from .contenders import LOOPS
from .numbers import figure, time_of
from .results import BUSY, median, percentile

SAME_RATE = 20_000  # messages a second, where most keep up


@dataclass(frozen=True)
class Verdict:
    what: str
    target: str
    measured: str
    met: bool | None  # None: this run cannot say
    by: float = 0  # how far it was missed, as a share of the limit

    @property
    def word(self):
        if self.met is None:
            return "not measured"
        return "met" if self.met else f"MISSED by {max(self.by, 0.01):.0%}"


def ratio(above, below):
    return above / below if above is not None and below else None


def at_most(what, value, limit, unit, missing):
    if value is None:
        return Verdict(what, f"<= {limit}{unit}", missing, None)
    return Verdict(what, f"<= {limit}{unit}", f"{figure(value)}{unit}", value <= limit, value / limit - 1)


def at_least(what, value, limit, missing):
    if value is None:
        return Verdict(what, f">= {limit} x", missing, None)
    return Verdict(what, f">= {limit} x", f"{figure(value)} x", value >= limit, 1 - value / limit)


def verdicts(summary, cores):
    """All of them, of a summary as results.py makes it, on a machine with so many cores."""
    def cell(scenario, contender):
        return summary.get(scenario, {}).get(contender)

    def of(scenario, contender, metric):
        return median(cell(scenario, contender), metric)

    ours = of("saturated", "quern", "per_cpu_second")
    loops = {name: rate for name in LOOPS if (rate := of("saturated", name, "per_cpu_second"))}
    fastest = max(loops, key=loops.get, default=None)
    memory = cell("held-100000", "quern")
    whole = memory and (median(memory, "reached") or 0) >= 100_000
    above_idle = median(memory, "above_idle")
    return [
        at_most("CPU per message, saturated, against the floor's",
                ratio(of("saturated", "quern", "cpu_us"), of("saturated", "floor", "cpu_us")), 1.5, " x", "no floor, or no Quern"),
        at_least(f"messages per CPU second against the fastest SDK loop{f' ({fastest})' if fastest else ''}",
                 ratio(ours, loops.get(fastest)), 4, "no SDK loop"),
        at_least("messages per CPU second against sqs-consumer",
                 ratio(ours, of("saturated", "sqs-consumer", "per_cpu_second")), 20, "no sqs-consumer"),
        at_most("requests per message, saturated", of("saturated", "quern", "requests"), 0.21, "", "no Quern"),
        at_most("requests per message, at 10 % load", of("load-10", "quern", "requests"), 0.4, "", "not run"),
        promptness(summary.get("load-10", {})),
        at_most(f"CPU per message at {SAME_RATE:,} messages/s against the Rust loop's",
                ratio(of(f"rate-{SAME_RATE}", "quern", "cpu_us"), of(f"rate-{SAME_RATE}", "aws-sdk-rust", "cpu_us")), 0.25,
                " x", "not run, or nobody to compare with"),
        at_most("CPU per message, TLS against plain HTTP",
                ratio(of("tls", "quern", "cpu_us"), of("saturated", "quern", "cpu_us")), 1.4, " x", "not run"),
        at_most("memory at 100,000 in flight, above idle", above_idle / 2**20 if whole and above_idle else None, 230, " MiB",
                "100,000 in flight were not reached" if memory else "not run"),
        second_thread(of("saturated", "quern", "rate"), cell("saturated", "quern-2t"), cores),
        relay(summary.get("relay", {})),
    ]


def relay(cells):
    what = "messages per CPU second of the relay against "
    rates = {name: rate for name in cells if (rate := median(cells[name], "per_cpu_second"))}
    ours = rates.pop("quern-relay", None)
    best = max(rates, key=rates.get, default=None)
    return at_least(what + (f"the best other ({best})" if best else "others"), ratio(ours, rates.get(best)), 4,
                    "not run, or nobody to compare with")


def promptness(cells):
    what = "p99 from send to handler at 10 % load, against the fastest contender's"
    late = {name: p99 for name, cell in cells.items() if (p99 := percentile(cell, "handler_us", 0.99)) is not None}
    others = {name: p99 for name, p99 in late.items() if not name.startswith("quern")}
    if "quern" not in late or not others:
        return Verdict(what, "< 2 x", "not run, or nobody to compare with", None)
    fastest = min(others, key=others.get)
    times = late["quern"] / max(1, others[fastest])
    return Verdict(what, "< 2 x", f"{figure(times)} x ({time_of(late['quern'])}; {fastest} {time_of(others[fastest])})",
                   times < 2, times / 2 - 1)


def second_thread(one, two, cores):
    what = "two threads against one, saturated"
    times = ratio(median(two, "rate"), one)
    if times is None:
        return Verdict(what, ">= 1.8 x", "not run", None)
    if cores < 3:
        return Verdict(what, ">= 1.8 x", f"{figure(times)} x, where the second thread shares its core with the server: "
                       f"{cores} cores cannot show it", None)
    if times < 1.8 and (median(two, "server_busy") or 0) > BUSY:
        return Verdict(what, ">= 1.8 x", f"{figure(times)} x, where the server is the limit", None)
    return Verdict(what, ">= 1.8 x", f"{figure(times)} x", times >= 1.8, 1 - times / 1.8)
