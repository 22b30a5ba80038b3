#!/usr/bin/env python3
"""What others make of our metrics: the dashboard and KEDA's objects in docs/examples and the rules of `quern alarms` ask for names,
labels and values that a consumer shows, the dashboard is one that Grafana takes, and the objects are such as KEDA reads."""

import json
import os
import re
import unittest
import urllib.request
from pathlib import Path

from program import LIMIT, ProgramTest, until, wait_for
from promql import lacking, shown

try:
    import yaml  # not of Python itself; Debian's python3-yaml
except ImportError:
    yaml = None

EXAMPLES = Path(__file__).resolve().parents[2] / "docs/examples"
DASHBOARD = EXAMPLES / "grafana-dashboard.json"
KEDA = ("keda-sqs.yaml", "keda-prometheus.yaml")
PAGE = """# HELP quern_a_total Some.
quern_a_total{queue="orders",kind="threw"} 1
quern_a_total{queue="orders",kind="timed_out"} 0
quern_b 1
quern_c_bucket{le="0.1"} 4
"""


class Reader(unittest.TestCase):
    def test_finds_what_is_not_shown(self):
        page = shown(PAGE)
        for query, legend, complaint in (
                ('sum by (kind) (rate(quern_a_total{queue=~"$queue",kind=~"threw|timed_out"}[5m]))', "{{kind}}", ""),
                ('quern_a_total{job="x",kind!="threw"} / on (job) quern_b', "{{job}}", ""),
                ("histogram_quantile(0.5, sum by (le) (rate(quern_c_bucket[5m])))", "", ""),
                ("quern_z", "", "no quern_z"),
                ("up", "", "asks for nothing: up"),
                ('quern_b{queue=~"$queue"}', "", 'no quern_b{queue="$queue"}'),
                ('quern_a_total{kind="three"}', "", 'no quern_a_total{kind="three"}'),
                ('quern_a_total{kind=~"threw|three"}', "", 'no quern_a_total{kind="threw|three"}'),
                ("sum by (queues) (quern_a_total)", "", "no label queues, by which is grouped: "),
                ("sum by (queue) (quern_a_total)", "{{kind}}", "no label kind of the legend: "),
                ("quern_b", "{{queue}}", "no label queue of the legend: ")):
            with self.subTest(query):
                found = lacking(query, page, legend)
                self.assertEqual(len(found), 1 if complaint else 0, found)
                self.assertTrue(not complaint or found[0].startswith(complaint), found)


class Asked(ProgramTest):
    """A consumer that has seen something of everything."""

    def setUp(self):
        super().setUp()
        self.create("dead")
        self.create("orders", "--attribute",
                    'RedrivePolicy={"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":3}')
        flag = os.path.join(self.folder, "flag")
        with open(flag, "w") as to:
            to.write("closed")
        consuming = self.start("consume", "orders", "--exec", "read body; case $body in slow) sleep 100;; bad) exit 1;; esac",
                               "--flag", "file:" + flag, "--admin-port", "0", "--wait-time", "1", "--max-in-flight", "10")
        self.urls = [wait_for(consuming.stderr, "watch it at ").split()[-1]]
        self.send("orders", "good", "bad", "slow")

    def page(self):
        text = ""
        for url in self.urls:
            with urllib.request.urlopen(url + "metrics", timeout=LIMIT) as answer:
                text += answer.read().decode()
        return shown(text)

    def finds_all(self, complaints):
        """Some numbers come with the first answers, and others while a message is held."""
        until(lambda: complaints(self.page()), lambda missed: not missed)

    def start_redrive(self):
        """One that takes minutes."""
        self.send("dead", *(f"m{n}" for n in range(20)))
        redriving = self.start("redrive", "dead", "--to", "orders", "--rate", "6/min", "--admin-port", "0")
        self.urls.append(wait_for(redriving.stderr, "watch it at ").split()[-1])

    def test_a_consumer_and_a_redrive_show_what_the_dashboard_asks_for(self):
        self.start_redrive()
        board = json.loads(DASHBOARD.read_text())
        queries = [(target["expr"], target["legendFormat"]) for panel in board["panels"] for target in panel.get("targets", [])]
        self.assertGreater(len(queries), 40)
        for one in board["templating"]["list"]:
            if one["type"] == "query":
                selector, label = re.fullmatch(r"label_values\((.*), (\w+)\)", one["query"]["query"]).groups()
                queries.append((selector, f"{{{{{label}}}}}"))
        self.finds_all(lambda page: [why for query, legend in queries for why in lacking(query, page, legend)])

    def test_a_consumer_and_a_redrive_show_what_the_rules_ask_for(self):
        self.start_redrive()
        rules, _ = self.quern("alarms", "rules", "--queue", "orders", "--dead-letter-queue", "dead")
        queries = [line.replace("''", "'") for line in re.findall(r"^ +expr: '(.*)'$", rules, re.M)]
        self.assertEqual(len(queries), rules.count("- alert: "))
        self.finds_all(lambda page: [why for query in queries for why in lacking(query, page)])

    def test_a_consumer_shows_what_keda_asks_for(self):
        queries = re.findall(r"^ +query: '(.*)'$", (EXAMPLES / "keda-prometheus.yaml").read_text(), re.M)
        self.assertEqual(len(queries), 2)
        self.finds_all(lambda page: [why for query in queries for why in lacking(query, page)])


class Keda(unittest.TestCase):
    """KEDA's own names, from its documentation of 2.17: spec of ScaledObject, scalers aws-sqs-queue and prometheus."""

    SPEC = {"scaleTargetRef", "pollingInterval", "cooldownPeriod", "initialCooldownPeriod", "idleReplicaCount", "minReplicaCount",
            "maxReplicaCount", "fallback", "advanced", "triggers"}
    METADATA = {
        "aws-sqs-queue": ({"queueURL", "awsRegion"}, {"queueLength", "activationQueueLength", "scaleOnInFlight", "scaleOnDelayed", "awsEndpoint"}),
        "prometheus": ({"serverAddress", "query", "threshold"}, {"activationThreshold", "ignoreNullValues", "namespace", "unsafeSsl"}),
    }

    def test_they_scale_the_deployment_that_is_in_the_examples_and_texts_are_quoted(self):
        deployment = re.search(r"^  name: (\S+)$", (EXAMPLES / "relay-kubernetes.yaml").read_text(), re.M)[1]
        for name in KEDA:
            with self.subTest(name):
                text = (EXAMPLES / name).read_text()
                self.assertIn(f"  scaleTargetRef:\n    name: {deployment}\n", text)
                # A number or a word like true would not be a text, and refused by the cluster.
                for block in re.findall(r"^      metadata:\n((?:        .*\n)+)", text, re.M):
                    for line in block.splitlines():
                        self.assertRegex(line, r"""^        (#.*|\w+: ("[^"]*"|'[^']*')( +#.*)?)$""")

    @unittest.skipUnless(yaml, "no python3-yaml")
    def test_the_objects_have_what_keda_knows_and_nothing_else(self):
        for name in KEDA:
            with self.subTest(name):
                objects = {one["kind"]: one for one in yaml.safe_load_all((EXAMPLES / name).read_text())}
                scaled = objects["ScaledObject"]
                self.assertEqual(scaled["apiVersion"], "keda.sh/v1alpha1")
                self.assertEqual(scaled["spec"].keys() - self.SPEC, set())
                self.assertLess(scaled["spec"]["minReplicaCount"], scaled["spec"]["maxReplicaCount"])
                for trigger in scaled["spec"]["triggers"]:
                    wanted, allowed = self.METADATA[trigger["type"]]
                    self.assertEqual(wanted - trigger["metadata"].keys(), set())
                    self.assertEqual(trigger["metadata"].keys() - wanted - allowed, set())
                    self.assertEqual({type(value) for value in trigger["metadata"].values()}, {str})
                    if "authenticationRef" in trigger:
                        authentication = objects["TriggerAuthentication"]
                        self.assertEqual(trigger["authenticationRef"]["name"], authentication["metadata"]["name"])
                        self.assertEqual(authentication["spec"]["podIdentity"], {"provider": "aws"})


class Grafana(unittest.TestCase):
    """Rules of the classic model of dashboards, from Grafana's schema of it (kinds/dashboard, panels' cue files)."""

    def setUp(self):
        self.board = json.loads(DASHBOARD.read_text())
        self.panels = self.board["panels"]

    def test_it_has_what_a_dashboard_must_have(self):
        self.assertRegex(self.board["uid"], r"^[A-Za-z0-9_-]{1,40}$")
        self.assertIsInstance(self.board["schemaVersion"], int)
        self.assertNotIn("id", self.board)  # of one Grafana's database
        rows = [panel["title"] for panel in self.panels if panel["type"] == "row"]
        self.assertEqual(rows, ["At a glance", "Throughput", "Latency", "In flight and leases", "Outage", "Failures", "Queue",
                                "Dead-letter queue"])
        self.assertEqual(self.panels[0]["type"], "row")

    def test_panels_are_of_kinds_that_there_are_and_each_has_an_id_and_a_meaning(self):
        self.assertEqual(sorted({panel["id"] for panel in self.panels}), list(range(1, len(self.panels) + 1)))
        for panel in self.panels:
            with self.subTest(panel["title"]):
                self.assertIn(panel["type"], ("row", "timeseries", "stat", "heatmap", "state-timeline"))
                if panel["type"] != "row":
                    self.assertTrue(panel["title"] and panel["description"].endswith("."))
                    self.assertIn(panel["fieldConfig"]["defaults"]["unit"], ("short", "s", "ops", "mps", "reqps", "bytes", "percentunit"))

    def test_they_stand_on_a_grid_of_24_columns_and_none_on_another(self):
        taken = set()
        for panel in self.panels:
            at = panel["gridPos"]
            self.assertTrue(0 <= at["x"] and at["x"] + at["w"] <= 24 and at["h"] > 0 and at["w"] > 0, panel["title"])
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            self.assertFalse(cells & taken, panel["title"])
            taken |= cells
        self.assertEqual(len(taken), 24 * (1 + max(y for _, y in taken)))  # and no hole is left

    def test_each_query_has_a_letter_and_the_chosen_source(self):
        for panel in self.panels:
            targets = panel.get("targets", [])
            self.assertEqual([target["refId"] for target in targets], list("ABCDEFG"[:len(targets)]))
            for target in targets:
                self.assertEqual(target["datasource"], {"type": "prometheus", "uid": "${datasource}"})
                self.assertEqual(target["format"], "heatmap" if panel["type"] == "heatmap" else "time_series")

    def test_variables_that_are_used_are_there_and_those_that_are_there_are_used(self):
        text = DASHBOARD.read_text()
        there = {one["name"] for one in self.board["templating"]["list"]}
        self.assertEqual(there, {"datasource", "job", "queue"})
        used = set(re.findall(r"\$\{?(\w+)", text)) - {"__rate_interval", "__all"}
        self.assertEqual(used, there)

    def test_thresholds_begin_below_everything_and_rise(self):
        for panel in self.panels:
            levels = panel.get("fieldConfig", {}).get("defaults", {}).get("thresholds")
            if levels:
                values = [step["value"] for step in levels["steps"]]
                self.assertIsNone(values[0])
                self.assertEqual(values[1:], sorted(set(values[1:])))


if __name__ == "__main__":
    unittest.main()
