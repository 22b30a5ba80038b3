#!/usr/bin/env python3
"""`quern relay` and answers of 429: those about one message, and those of a service that takes so many a second."""

import collections
import threading
import time
import unittest

from program import LIMIT, ProgramTest, until
from relay import Service


class Hook:
    """Answers by the message's key and by how often it came; remembers all answers in their order."""

    def __init__(self, decide):
        self.decide = decide
        self.answers = []  # (key, status)
        self.times = collections.Counter()
        self.lock = threading.Lock()

    def __call__(self, path, headers, body):
        key = headers.get("Quern-Message-Id") or body  # carrier's headers have no id
        with self.lock:
            self.times[key] += 1
            status, retry_after = self.decide(self.times[key], body, path)
            self.answers.append((key, status))
        return status, {"Retry-After": retry_after} if retry_after else {}, b""

    def count(self, status, since=0):
        with self.lock:
            return sum(1 for _, told in self.answers[since:] if told == status)


class Bucket:
    """Holds a second's worth; lets in so many a second."""

    def __init__(self, rate):
        self.rate = self.most = self.have = rate
        self.offered = 0.0  # since the beginning, what flowed over included
        self.at = time.monotonic()

    def take(self):
        now = time.monotonic()
        came = self.rate * (now - self.at)
        self.offered += came
        self.have = min(self.most, self.have + came)
        self.at = now
        if self.have < 1:
            return False
        self.have -= 1
        return True


class Refusals(ProgramTest):
    # At 2 % of 429 the relay made eight requests a second.
    def test_what_one_message_is_told_is_no_matter_to_the_others(self):
        running = {}
        for part in (2, 30, 100):
            queue = f"orders{part}"
            self.create(queue)
            self.send(queue, *(f"{i}" for i in range(100)))
            hook = Hook(lambda time, body, path, part=part:
                        (429, "5") if time == 1 and int(body) < part else (200, None))
            service = self.enterContext(Service(hook))
            relay = self.start("relay", queue, service.url, "--until-empty", "--wait-time", "1")
            running[part] = (queue, hook, relay)
        for part, (queue, hook, relay) in running.items():
            with self.subTest(part):
                _, err = relay.communicate(timeout=LIMIT)
                self.assertEqual(relay.returncode, 0, err)
                self.assertEqual(self.counts(queue), (0, 0, 0))
                self.assertEqual(hook.count(429), part)
                self.assertEqual(hook.count(200), 100)
                self.assertIn(f"refused {part}", err)
                seen = set()  # before the first one comes again all have been there once
                for key, _ in hook.answers:
                    if key in seen:
                        break
                    seen.add(key)
                self.assertEqual(len(seen), 100)

    def test_a_tenant_that_is_always_refused_does_not_slow_the_others(self):
        self.create("orders")
        self.send("orders", *(f'{{"tenant": {i % 10}}}' for i in range(400)))
        hook = Hook(lambda time, body, path: (429, "60") if path == "/3" else (200, None))
        with Service(hook) as service:
            relay = self.start("relay", "orders", service.url + "/{{body:/tenant}}", "--wait-time", "1")
            until(lambda: hook.count(200) == 360)
            relay.terminate()
            _, err = relay.communicate(timeout=LIMIT)
        self.assertEqual(relay.returncode, 0, err)
        self.assertNotIn("HTTP 429:", err)
        self.assertLessEqual(hook.count(429), 40)

    def unsteady(self, kind, hook, bucket, answers_before, offered_before):
        """What is wrong since then: a service gets what it takes, and few requests that it refuses."""
        with hook.lock:
            new = hook.answers[answers_before:]
            offered = bucket.offered - offered_before
        admitted = sum(1 for _, status in new if status == 200)
        if admitted < 0.9 * offered:
            yield f"{kind}: {admitted} of {offered} that it takes"
        if (len(new) - admitted <= len(new) / 5) == (kind == "carrier"):
            yield f"{kind}: {len(new) - admitted} of {len(new)} refused"

    def test_a_service_that_takes_fifty_a_second_is_found_and_carriers_users_are_left_alone(self):
        kinds = {"told": (), "untold": (), "carrier": ("--compat", "carrier")}
        running = {}
        for kind, options in kinds.items():
            self.create(kind)
            self.send(kind, *(f"{i}" for i in range(6000)))
            bucket = Bucket(50)
            hook = Hook(lambda *_, bucket=bucket, kind=kind:
                        (200, None) if bucket.take() else (429, None if kind == "untold" else "2"))
            service = self.enterContext(Service(hook))
            relay = self.start("relay", kind, service.url, "--wait-time", "1", "--concurrency", "10", *options)
            running[kind] = (relay, hook, bucket)
        steady = set()
        for _ in range(18):
            begin = {kind: (len(hook.answers), bucket.offered) for kind, (_, hook, bucket) in running.items()}
            time.sleep(5)
            wrong = [it for kind in kinds if kind not in steady for it in self.unsteady(kind, *running[kind][1:], *begin[kind])]
            steady |= {kind for kind in kinds if not any(it.startswith(kind + ":") for it in wrong)}
            if not wrong:
                break
        self.assertEqual(wrong, [])
        for kind, (relay, _, _) in running.items():
            relay.terminate()
            _, err = relay.communicate(timeout=LIMIT)
            self.assertEqual(relay.returncode, 0, err)
            if kind == "carrier":
                self.assertNotIn("HTTP 429:", err)


if __name__ == "__main__":
    unittest.main()
