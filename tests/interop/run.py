#!/usr/bin/env python3
"""Quern and other people's software, in both directions: our client and consumer on their servers, their clients on our broker, our
relay between our broker, their proxies and workers written with their packages, their movers of dead letters beside ours, our metrics and
alarms before those who watch, our spans at their collector.

usage: run.py --quern PROGRAM --client PROGRAM --store PROGRAM [--require-all] [--if-asked] [NAME...]
       run.py --list | --self-test

Installs what it needs (kits.py), runs everything, or the servers and clients that are named, and prints a table for each
direction, one for stores of keys, and one for Powertools on a table with us. What cannot be installed here is left out, and
said; with --require-all that is a failure where the toolchain is there. --list says what this machine could run, and asks no
registry. --if-asked: runs only where QUERN_INTEROP=1 is set, and ends with status 77 otherwise (CTest's sign for a test that
was skipped). Fails on a "no" that known.py does not explain.
"""
import argparse
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import keys
import known
import mover_checks
import peers
import relay_checks
import tracing_checks
import watchers
from kits import HERE, KITS, Missing
from workloads import Workloads

CHECKS = ("send", "batch", "visibility", "queue", "attributes", "fifo", "dead_letters", "move_task", "long_poll", "tags",
          "paging", "errors", "signature")
MEANING = {
    "send": "send, receive, delete; 200 kB and any letter",
    "batch": "batches; one bad entry among the deletes fails alone",
    "visibility": "timeout, change, receive count; in batches too",
    "queue": "create, find, describe, change, purge, delete",
    "attributes": "of messages, with their MD5; all, none, by name",
    "fifo": "order in a group, groups wait, duplicates",
    "dead_letters": "redrive after maxReceiveCount, source queues",
    "move_task": "dead letters moved back by a task",
    "long_poll": "a waiting receive wakes when a message comes",
    "tags": "tag, list, untag",
    "paging": "queues listed by pages",
    "errors": "a bad handle and batches that break a limit: typed errors",
    "signature": "wrong secret and unknown key are refused",
    "consumer": "sqs-consumer, with a handler that fails once",
    "standard": "a queue is consumed whole, counts end at 0",
    "order": "a FIFO queue keeps each group's order",
    "leases": "a handler of 7 s on leases of 3 s runs once",
    "crash": "SIGKILL in a handler: the message comes again",
    "claim": "one of two has the key, the other is shown the row",
    "complete": "a completed key keeps its result and its payload",
    "extend": "a claim that is extended stands",
    "abandon": "a key that is given free can be claimed",
    "expiry": "what is over by its time does not stand",
    "fence": "a late finisher's writes are refused, and told why",
    "together": "50 writes at once, each with an answer of its own",
    "exclusive": "eight claimants at once, one winner; 25 rounds",
    "flag": "a parameter of SSM halts `quern consume`, and lets it go on",
    "consumer: dead_letters": "what fails twice ends in the dead-letter queue",
    "drain": "SIGTERM: nothing is stranded, the rest is there at once",
    "reload": "five reloads under load: nothing lost, no repeat untold",
    "keep_alive": "connections closed after a second or seven requests",
    "limit_req": "429 to all but 40 a second: hardly more are asked for",
    "timeout": "504 of a slow service: repeated, and nothing else is",
    "underscores": "header names with _ are dropped; one's own arrive",
    "large": "413: retried with a warning, a dead letter in the end",
    "unix": "a unix socket",
    "maxconn": "503 of a full queue",
    "flapping": "503 while the health check fails",
    "carrier": "CARRIER_*: the same request",
    "sqsd": "SQSD_* of both clones: the same request",
    "answers": "204, 303, Retry-After as date, 0, with 503",
    "long_retry": "Retry-After: 50000 hides the message as long as SQS can",
    "tls_1_2": "a service without TLS 1.3",
    "sigterm": "requests end, the rest comes again, nothing twice",
    "plain": "forty messages, each there once",
    "types": "String, Number and Binary, with a label too",
    "trace": "the X-Ray header",
    "groups": "three groups of a FIFO queue, each in its order",
    "refused": "some entries of each batch are refused: none is lost",
    "killed": "SIGKILL: nothing lost, ten at most are there twice",
    "again": "503 with Retry-After, the same key each time",
    "signed": "Standard Webhooks: two secrets, a wrong one",
    "events": "CloudEvents, binary and structured",
    "lambda": "awslambdaric: every row of the partial batch answers",
    "tree": "sender, handler and settlement are one trace at the collector's receiver",
    "many": "4000 spans arrive, none is dropped",
    "numbers": "metrics by OTLP",
    "batches": "awslambdaric: ten messages an event, a third of them fails",
    "page": "promtool and prometheus_client read /metrics, plain and as OpenMetrics",
    "rules": "promtool: each rule fires on its day, and on no other",
    "alert": "a dead letter, Prometheus, Alertmanager, a web hook",
    "dashboard": "Prometheus answers every query of the dashboard, and KEDA's",
    "grafana": "Grafana's models take the dashboard as it is",
    "metrics": "`--metrics cloudwatch`: names, sums, counts",
    "alarms": "`quern alarms put`: made, and changed",
}
# name: the kits that it needs
NEEDS = {name: (kit,) for name, (kit, *_) in peers.EVERYONE.items()} | {
    name: kits for name, (kits, *_) in {**relay_checks.RELAYS, **watchers.WATCHERS, **tracing_checks.TRACERS}.items()} | {
        "movers": ("movers",)}
MOVED_ON = ("our broker", "moto", "fauxqs", "elasticmq")  # those with a dead-letter queue that can be relied on
PACE = {"moto": 40}  # messages of the standard workload where 300 would take minutes: moto's receive is quadratic


def install(names, jobs=2):
    """{kit: why it is not there}, having installed the others."""
    def one(kit):
        began = time.monotonic()
        try:
            KITS[kit].install()
        except Missing as why:
            return kit, str(why)
        if time.monotonic() - began > 1:
            print(f"installed {kit} in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        return kit, None

    with ThreadPoolExecutor(jobs) as pool:
        return {kit: why for kit, why in pool.map(one, names) if why}


def on_server(name, options):
    """{check: why not} of our client and our consumer on one server."""
    _, start = peers.SERVERS[name]
    with start() as where:
        found = peers.run_checks([options.client], where, "q")
        for check in [c for c, why in found.items() if why]:
            # Is it the server? boto3 has no reason to share our mistakes.
            if (control := boto3_on(where, check)) is not None:
                found[check] += f" [boto3: {control or 'it works'}]"
        work = Workloads(options.quern, where, "w", PACE.get(name, 300)).run()
    return {**found, **{f"consumer: {workload}": why for workload, why in work.items()}}


def on_store(name, options):
    """{check: why not} of our store of keys on one DynamoDB, and of a flag where there is an SSM."""
    with peers.STORES[name][1]() as where:
        found = keys.on_store(options, where)
        if name == "moto":
            found.pop("exclusive", None)  # a thread a request, and no lock from a condition to the write: now and then two win
            aws = KITS["python"].folder / "venv/bin/aws"
            found["flag"] = keys.flag(options, keys.services(where), aws)
    return found


def with_powertools(name, options, table):
    """{meeting: why not} of one Powertools on a table with us."""
    _, flavour, theirs = peers.POWERTOOLS[name]
    with peers.STORES[table][1]() as where:
        keys.create_table(options, where)
        return keys.Meetings(flavour, where, [options.store], theirs()).run()


def boto3_on(where, check):
    if not KITS["python"].is_installed():
        return None
    return peers.run_checks(peers.python("checks.py"), where, "control", [check], limit=120).get(check)


def of_client(name, options, where):
    _, command, variables = peers.CLIENTS[name]
    return peers.run_checks(command(), {**where, **variables()}, name)


def gather(names, work, jobs=2):
    def one(name):
        try:
            return name, work(name)
        except Missing as why:
            return name, {"(all)": str(why)}

    with ThreadPoolExecutor(jobs) as pool:
        return dict(pool.map(one, names))


def judge(results, explained):
    """The lines to say below the table: explained ones, and those that are news."""
    reasons, news = [], []
    for name, found in results.items():
        reasons_of = explained.get(name, {})
        for check, why in found.items():
            if why and check in reasons_of:
                reasons.append(f"{name}, {check}: {reasons_of[check]} ({why})")
            elif why:
                news.append(f"{name}, {check}: {why}")
        for check in reasons_of:
            if found.get(check) == "":
                news.append(f"{name}, {check}: works, although known.py says: {reasons_of[check]}")
    return reasons, news


def table(title, results, explained):
    names = list(results)
    rows = []
    for found in results.values():
        rows += [check for check in found if check not in rows]
    print(f"\n{title}\n")
    width = max(map(len, rows))
    print(f"{'':{width}}  " + "  ".join(f"{name:>13}" for name in names))
    for check in rows:
        cells = []
        for name in names:
            why = results[name].get(check)
            cells.append("-" if why is None else "yes" if not why else "no" if check in explained.get(name, {}) else "NO")
        meaning = MEANING.get(check) or MEANING.get(check.rpartition(": ")[2], "")
        print(f"{check:{width}}  " + "  ".join(f"{cell:>13}" for cell in cells) + f"   {meaning}")
    reasons, news = judge(results, explained)
    for heading, lines in (("no, because", reasons), ("NOT EXPLAINED", news)):
        if lines:
            print(f"\n{heading}:")
            print("\n".join(f"  {line}" for line in lines))
    return news


def list_kits():
    for kit in KITS.values():
        users = [name for name, kits in NEEDS.items() if kit.name in kits]
        absent = kit.lacking()
        state = f"no {', no '.join(absent)}" if absent else "installed" if kit.is_installed() else "to be installed"
        print(f"interop with {', '.join(users)}: {state}")


def self_test():
    explained = {"them": {"fifo": "cannot", "tags": "never could"}}
    results = {"them": {"send": "", "fifo": "lost one", "tags": "", "paging": "odd"}, "others": {"fifo": "lost two"}}
    reasons, news = judge(results, explained)
    assert reasons == ["them, fifo: cannot (lost one)"], reasons
    assert news == ["them, paging: odd", "them, tags: works, although known.py says: never could",
                    "others, fifo: lost two"], news
    page = (HERE.parent.parent / "docs/interop.md").read_text()
    for name, checks in known.STORES.items():
        assert name in peers.STORES and all(c in keys.CHECKS and f"- `{c}`: {why}.\n" in page for c, why in checks.items()), name
    for name, checks in known.SERVERS.items():
        assert name in peers.SERVERS, name
        untold = [c for c, why in checks.items() if f"- `{c}`: {why}.\n" not in page.split(f"### {name}\n")[-1]]
        assert not untold, f"docs/interop.md does not say what known.py says of {name}: {untold}"
        strange = [c for c in checks if c not in CHECKS and c.removeprefix("consumer: ") not in Workloads.ALL]
        assert not strange, strange
    for name, checks in known.MOVERS.items():
        told = page.split("## Movers side by side\n")[-1].split("\n## ")[0]
        untold = sorted({why for why in checks.values() if why not in " ".join(told.split())})
        assert name in mover_checks.MOVERS and not untold, f"docs/interop.md does not say of {name}: {untold}"
    print("interop: judges as it should")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quern", help="the program")
    parser.add_argument("--client", help="the program interop_client")
    parser.add_argument("--store", help="the program interop_store")
    parser.add_argument("--require-all", action="store_true", help="fail when something cannot be installed")
    parser.add_argument("--list", action="store_true", help="say what could be run here")
    parser.add_argument("--if-asked", action="store_true", help="skip, with status 77, unless QUERN_INTEROP=1")
    parser.add_argument("--self-test", action="store_true", help="check what decides over pass and failure")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these servers, clients, proxies and workers")
    options = parser.parse_args()
    if options.list:
        return list_kits()
    if options.self_test:
        return self_test()
    if options.if_asked and os.environ.get("QUERN_INTEROP") != "1":
        print("skipped: set QUERN_INTEROP=1 to run it here, or run ./dev interop")
        return 77
    if not options.quern or not options.client or not options.store:
        parser.error("--quern, --client and --store are needed")
    if unknown := [name for name in options.names if name not in NEEDS]:
        parser.error(f"there is no {unknown[0]}; there are {', '.join(NEEDS)}")

    wanted = options.names or list(NEEDS)
    if any(name in peers.POWERTOOLS for name in wanted) and not any(name in peers.STORES for name in wanted):
        wanted = ["dynamodb-local", *wanted]  # where they meet
    absent = install(dict.fromkeys(kit for name in wanted for kit in NEEDS[name]))
    left_out = {name: absent[kit] for name in wanted for kit in NEEDS[name] if kit in absent}
    here = [name for name in wanted if name not in left_out]

    began = time.monotonic()
    servers = gather([n for n in peers.SERVERS if n in here], lambda name: on_server(name, options))
    stores = {"memory": keys.in_memory(options)} if any(n in here for n in peers.STORES) else {}
    stores |= gather([n for n in peers.STORES if n in here], lambda name: on_store(name, options))
    table_of = next((n for n in peers.STORES if n in here), None)  # the first is the better one
    sharers = gather([n for n in peers.POWERTOOLS if n in here and table_of],
                     lambda name: with_powertools(name, options, table_of))
    with peers.broker(options.quern) as where:
        strangers = gather([n for n in peers.CLIENTS if n in here], lambda name: of_client(name, options, where))
        ours = {"quern": peers.run_checks([options.client], where, "quern")}
    news = table("Their clients on our broker, signatures checked", {**ours, **strangers}, known.CLIENTS)
    if servers:
        news += table("Our client and our consumer on their servers", servers, known.SERVERS)
    if stores:
        news += table("Our store of keys, and flags, on their servers", stores, known.STORES)
    if sharers:
        news += table("Powertools and Quern on one table", sharers, known.POWERTOOLS)
    relays = gather([n for n in relay_checks.RELAYS if n in here], lambda name: relay_checks.run(name, options.quern))
    if relays:
        news += table("Our relay behind their proxies, before their workers and verifiers", relays, known.RELAYS)
    watched = gather([n for n in watchers.WATCHERS if n in here], lambda name: watchers.run(name, options.quern))
    if watched:
        news += table("Those who watch us", watched, known.WATCHERS)
    if "movers" in here:
        moved_on = [n for n in MOVED_ON if n not in peers.SERVERS or KITS[peers.SERVERS[n][0]].is_installed()]
        moved = gather(moved_on, lambda name: mover_checks.on_server(name, options.quern), len(moved_on))
        news += table("What movers make of a message", mover_checks.side_by_side(moved), known.MOVERS)
    tracers = gather([n for n in tracing_checks.TRACERS if n in here], lambda name: tracing_checks.run(name, options.quern))
    if tracers:
        news += table("Our spans and metrics at the OpenTelemetry collector", tracers, known.TRACERS)
    print(f"\n{time.monotonic() - began:.0f} s")

    for name, why in left_out.items():
        print(f"left out: {name}: {why}")
    lost = [kit for kit in absent if not KITS[kit].lacking()] if options.require_all else []
    if lost:
        print(f"failed: {', '.join(lost)} could not be installed although the toolchain is there (--require-all)")
    if news:
        print("failed, and not explained:\n" + "\n".join(f"  {line}" for line in news))
    return 1 if news or lost else 0


if __name__ == "__main__":
    sys.exit(main())
