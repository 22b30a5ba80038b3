#!/usr/bin/env python3
"""Quern and other people's software, in both directions: our client and consumer on their servers, their clients on our broker.

usage: run.py --quern PROGRAM --client PROGRAM [--require-all] [--if-asked] [NAME...]
       run.py --list | --self-test

Installs what it needs (kits.py), runs everything, or the servers and clients that are named, and prints a table for each
direction. What cannot be installed here is left out, and said; with --require-all that is a failure where the toolchain is
there. --list says what this machine could run, and asks no registry. --if-asked: runs only where QUERN_INTEROP=1 is set, and
ends with status 77 otherwise (CTest's sign for a test that was skipped). Fails on a "no" that known.py does not explain.
"""
import argparse
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import known
import peers
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
    "consumer: dead_letters": "what fails twice ends in the dead-letter queue",
    "drain": "SIGTERM: nothing is stranded, the rest is there at once",
}
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
        meaning = MEANING.get(check) or MEANING.get(check.removeprefix("consumer: "), "")
        print(f"{check:{width}}  " + "  ".join(f"{cell:>13}" for cell in cells) + f"   {meaning}")
    reasons, news = judge(results, explained)
    for heading, lines in (("no, because", reasons), ("NOT EXPLAINED", news)):
        if lines:
            print(f"\n{heading}:")
            print("\n".join(f"  {line}" for line in lines))
    return news


def list_kits():
    for kit in KITS.values():
        users = [name for name, (k, *_) in {**peers.SERVERS, **peers.CLIENTS}.items() if k == kit.name]
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
    for name, checks in known.SERVERS.items():
        assert name in peers.SERVERS, name
        page = (HERE.parent.parent / "docs/interop.md").read_text()
        untold = [c for c, why in checks.items() if f"- `{c}`: {why}.\n" not in page.split(f"### {name}\n")[-1]]
        assert not untold, f"docs/interop.md does not say what known.py says of {name}: {untold}"
        strange = [c for c in checks if c not in CHECKS and c.removeprefix("consumer: ") not in Workloads.ALL]
        assert not strange, strange
    print("interop: judges as it should")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quern", help="the program")
    parser.add_argument("--client", help="the program interop_client")
    parser.add_argument("--require-all", action="store_true", help="fail when something cannot be installed")
    parser.add_argument("--list", action="store_true", help="say what could be run here")
    parser.add_argument("--if-asked", action="store_true", help="skip, with status 77, unless QUERN_INTEROP=1")
    parser.add_argument("--self-test", action="store_true", help="check what decides over pass and failure")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these servers and clients")
    options = parser.parse_args()
    if options.list:
        return list_kits()
    if options.self_test:
        return self_test()
    if options.if_asked and os.environ.get("QUERN_INTEROP") != "1":
        print("skipped: set QUERN_INTEROP=1 to run it here, or run ./dev interop")
        return 77
    if not options.quern or not options.client:
        parser.error("--quern and --client are needed")
    everyone = {**peers.SERVERS, **peers.CLIENTS}
    if unknown := [name for name in options.names if name not in everyone]:
        parser.error(f"there is no {unknown[0]}; there are {', '.join(everyone)}")

    wanted = options.names or list(everyone)
    kits = dict.fromkeys(everyone[name][0] for name in wanted)
    absent = install(kits)
    here = [name for name in wanted if everyone[name][0] not in absent]

    began = time.monotonic()
    servers = gather([n for n in peers.SERVERS if n in here], lambda name: on_server(name, options))
    with peers.broker(options.quern) as where:
        strangers = gather([n for n in peers.CLIENTS if n in here], lambda name: of_client(name, options, where))
        ours = {"quern": peers.run_checks([options.client], where, "quern")}
    news = table("Their clients on our broker, signatures checked", {**ours, **strangers}, known.CLIENTS)
    if servers:
        news += table("Our client and our consumer on their servers", servers, known.SERVERS)
    print(f"\n{time.monotonic() - began:.0f} s")

    left_out = {name: absent[everyone[name][0]] for name in wanted if name not in here}
    for name, why in left_out.items():
        print(f"left out: {name}: {why}")
    lost = [kit for kit in absent if not KITS[kit].lacking()] if options.require_all else []
    if lost:
        print(f"failed: {', '.join(lost)} could not be installed although the toolchain is there (--require-all)")
    return 1 if news or lost else 0


if __name__ == "__main__":
    sys.exit(main())
