"""The parts of the benchmark that judge: figures, plans, targets, and that a report needs nothing else."""
import re
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from harness import compare, numbers, plot, report, results, scenarios, tables, targets  # noqa: E402
from harness.contenders import Contender  # noqa: E402


def run(contender, scenario="saturated", number=1, **figures):
    return {"scenario": scenario, "contender": contender, "round": number, "rate": 100_000.0, "cpu_us": 10.0,
            "per_cpu_second": 100_000.0, "requests": 0.2, "server_busy": 0.5, "others_busy": 0.0, "refused": 0,
            "behind_us": 0, "handler_us": {}, "deleted_us": {}, **figures}


def held(contender, count, reached, mib):
    return {"scenario": f"held-{count}", "contender": contender, "round": 1, "reached": reached, "resident": 2**30,
            "above_idle": mib * 2**20}


def result(runs):
    return {"date": "2026-01-02 03:04 UTC", "command": "./dev bench <&>", "quick": False, "minutes": 1.0, "runs": runs,
            "machine": {"cpu": "Some CPU", "cores": 4, "memory_mib": 2048, "kernel": "6.1", "system": "Debian"},
            "pins": {"server": [0], "one": [1], "two": [1, 2], "remark": ""}, "absent": [{"name": "b<3", "why": "no way & so"}],
            "contenders": [{"name": "quern", "version": "1", "told": "", "command": "contender-quern"}]}


SAMPLE = [run("quern"), run("quern", number=2, cpu_us=12.0), run("wrk", cpu_us=8.0),
          run("quern", "load-10", handler_us={"100": 98, "200": 2}, requests=0.5, offered=10_000.0),
          run("aws-sdk-go", "load-10", handler_us={"150": 100}, offered=1_000.0),
          held("quern", 1000, 1000, 2), held("quern", 100_000, 100_000, 150), run("boto3", error="it <fell>")]


class Numbers(unittest.TestCase):
    def test_a_spread_leaves_out_what_is_not_there(self):
        self.assertEqual(numbers.spread([3, None, 1, 2]), {"median": 2, "least": 1, "most": 3, "n": 3})
        self.assertIsNone(numbers.spread([None]))

    def test_percentiles_are_those_of_the_counts(self):
        buckets = {10: 90, 20: 9, 500: 1}
        self.assertEqual([numbers.percentile(buckets, share) for share in (0.5, 0.9, 0.91, 0.99, 0.999)],
                         [10, 10, 20, 20, 500])
        self.assertIsNone(numbers.percentile({}, 0.5))
        self.assertEqual(numbers.percentiles(buckets, (0.5, 0.99, 0.999)), [10, 20, None])  # of a hundred there is no 99.9 %

    def test_the_warm_up_does_not_count(self):
        self.assertEqual(numbers.measured({"120": 5, "1700000000000000": 9}), {120: 5})

    def test_rounds_are_put_together_by_bucket(self):
        self.assertEqual(numbers.merged([{"10": 1}, {10: 2, 20: 3}]), {10: 3, 20: 3})
        self.assertEqual(numbers.distribution({10: 3, 20: 1}), [(0.625, 10), (0.875, 20)])

    def test_figures_have_the_digits_that_count(self):
        said = {0: "0", 0.2046: "0.205", 1.454: "1.45", 12.34: "12.3", 123.4: "123", 1234: "1,230", 342_871: "343,000",
                0.00012: "1.2e-04", None: "-", -0.5: "-0.5"}
        self.assertEqual({value: numbers.figure(value) for value in said}, said)
        self.assertEqual([numbers.time_of(us) for us in (None, 0, 40, 1_200, 25_000, 3_000_000)],
                         ["-", "0 us", "40 us", "1.2 ms", "25 ms", "3.0 s"])
        self.assertEqual(numbers.with_spread(numbers.spread([1, 2, 4])), "2.00 (1.00..4.00)")


class Results(unittest.TestCase):
    def test_a_cell_is_the_median_of_its_rounds(self):
        cell = results.summary(SAMPLE)["saturated"]["quern"]
        self.assertEqual(cell["cpu_us"], {"median": 11.0, "least": 10.0, "most": 12.0, "n": 2})
        self.assertEqual(cell["flags"], [])

    def test_what_cannot_be_relied_on_says_so(self):
        for figures, remark in (({"server_busy": 0.93}, "server 93% busy"), ({"others_busy": 0.4}, "other processes"),
                                ({"behind_us": 2_000_000}, "2.0 s behind"), ({"refused": 3}, "handles"), ({"cold": True}, "compiled"),
                                ({"rate": 0}, "nothing"), ({"error": "it fell"}, "it fell")):
            flags = results.summary([run("x", **figures)])["saturated"]["x"]["flags"]
            self.assertEqual(len(flags), 1, flags)
            self.assertIn(remark, flags[0])


class Plan(unittest.TestCase):
    ALL = [Contender("wrk", "", ("wrk",), bare=True), Contender("floor", "", ("f",), backlog_only=True),
           Contender("quern", "", ("q",)),
           Contender("quern-2t", "", ("q",), threads=2), Contender("boto3", "", ("p",))]

    def steps(self, names, quick=False, named=(), rounds=0):
        return [(scenario.name, number, contender.name)
                for scenario, number, contender in scenarios.plan(self.ALL, names, quick, named, rounds)]

    def test_rounds_take_turns(self):
        self.assertEqual(self.steps(["saturated"], rounds=2), [("saturated", number, name) for number in (1, 2)
                                                                for name in ("wrk", "floor", "quern", "quern-2t", "boto3")])

    def test_a_share_of_the_capacity_needs_the_capacity(self):
        steps = self.steps(["load-50"], rounds=1)
        self.assertEqual(steps[0][0], "saturated")
        self.assertEqual([step for step in steps if step[0] == "load-50"], [("load-50", 1, "quern"), ("load-50", 1, "boto3")])

    def test_what_depends_on_the_capacity_is_worked_out_from_it(self):
        self.assertEqual(scenarios.SCENARIOS["load-50"].given(1_000), (["--poisson", "--rehearse", "--rate", "500.0"], 320))
        # Ten milliseconds for each of two answers, at 10,000 a second: 200 in flight, and three times that is allowed.
        self.assertEqual(scenarios.SCENARIOS["latency-10"].given(10_000), (["--delay", 10], 320 + 600))
        self.assertEqual(scenarios.SCENARIOS["saturated"].given(0), ([], 320))
        self.assertEqual(scenarios.SCENARIOS["rate-5000"].given(0), (["--poisson", "--rehearse", "--rate", "5000.0"], 320))

    def test_who_is_named_takes_part_where_only_few_do(self):
        self.assertEqual(self.steps(["waiting-10"]), [("waiting-10", 1, "quern")])
        self.assertIn(("waiting-10", 1, "boto3"), self.steps(["waiting-10"], named=["boto3"]))
        for name in ("wrk", "floor"):
            self.assertNotIn(("waiting-10", 1, name), self.steps(["waiting-10"], named=[name]))

    def test_relays_are_measured_among_themselves(self):
        relay = Contender("relay", "", ("r",), relays=True)
        steps = scenarios.plan([*self.ALL, relay], scenarios.SCENARIOS, False)
        relayed = {scenario.name for scenario, _, contender in steps if contender is relay}
        self.assertEqual(relayed, {"relay", "relay-50"})
        self.assertEqual({contender.name for scenario, _, contender in steps if scenario.name in relayed}, {"relay"})
        self.assertEqual([scenario.name for scenario, _, _ in scenarios.plan([relay], ["relay-50"], False)],
                         ["relay", "relay", "relay-50"])

    def test_who_takes_long_to_warm_up_is_measured_once(self):
        slow = [Contender("jvm", "", ("x",), warm_up=30)]
        names = [(scenario.name, number) for scenario, number, _ in scenarios.plan(slow, scenarios.SCENARIOS, False)]
        self.assertEqual(names, [("saturated", 1), ("load-10", 1), ("start", 1), ("idle", 1)])
        self.assertEqual(len(scenarios.plan(slow, ["saturated"], False, ["jvm"])), 3)

    def test_a_whole_run_takes_no_longer_than_was_promised(self):
        node = [Contender(name, "", ("x",), warm_up=3) for name in ("sqs-consumer", "squiss-ts", "aws-sdk-js")]
        java = [Contender(name, "", ("x",), warm_up=30) for name in ("aws-sdk-java", "spring-cloud-aws")]
        peers = node + java + [Contender(name, "", ("x",)) for name in ("aws-sdk-go", "aws-sdk-rust")]
        for quick, pace, limit in ((True, scenarios.QUICK, 280), (False, scenarios.FULL, 20 * 60)):
            names = [name for name, one in scenarios.SCENARIOS.items() if one.quick_rounds or not quick]
            steps = scenarios.plan(self.ALL + peers, names, quick)
            busy = sum(pace.of(scenario, contender) for scenario, _, contender in steps if scenario.kind != "idle")
            self.assertLess(busy + pace.idle + 5, limit)


class Targets(unittest.TestCase):
    def verdicts(self, runs, cores=4):
        return {verdict.what.split(" for ")[0]: verdict for verdict in targets.verdicts(results.summary(runs), cores)}

    def test_a_ratio_is_met_up_to_its_limit(self):
        for ours, word in ((11.9, "met"), (12.1, "MISSED by 1%"), (15.0, "MISSED by 25%")):
            found = self.verdicts([run("quern", cpu_us=ours), run("floor", cpu_us=8.0)])
            self.assertEqual(found["CPU per message, saturated, against the floor's"].word, word)

    def test_what_was_not_run_is_neither_met_nor_missed(self):
        self.assertEqual({verdict.word for verdict in targets.verdicts({}, 4)}, {"not measured"})

    def test_the_fastest_loop_is_the_measure(self):
        runs = [run("quern", per_cpu_second=200_000), run("boto3", per_cpu_second=4_000),
                run("aws-sdk-go", per_cpu_second=60_000), run("spring-cloud-aws", per_cpu_second=150_000)]
        verdict = next(v for v in targets.verdicts(results.summary(runs), 4) if "fastest SDK loop" in v.what)
        self.assertIn("aws-sdk-go", verdict.what)
        self.assertEqual((verdict.measured, verdict.met), ("3.33 x", False))

    def test_memory_counts_only_where_all_were_in_flight(self):
        for reached, mib, word in ((100_000, 229, "met"), (100_000, 345, "MISSED by 50%"), (99_999, 10, "not measured")):
            found = self.verdicts([held("quern", 100_000, reached, mib)])["memory at 100,000 in flight, above idle"]
            self.assertEqual(found.word, word)

    def test_promptness_is_less_than_twice_that_of_the_best_of_the_others(self):
        self.assertEqual(targets.promptness(results.summary(SAMPLE)["load-10"]).word, "met")
        late = [run("quern", "load-10", handler_us={300: 100}), run("boto3", "load-10", handler_us={150: 100})]
        self.assertEqual(targets.promptness(results.summary(late)["load-10"]).met, False)

    def test_two_cores_cannot_show_a_second_thread(self):
        def word(runs, cores):
            return self.verdicts(runs, cores)["two threads against one, saturated"].word

        runs = [run("quern", rate=100.0), run("quern-2t", rate=190.0)]
        self.assertEqual(word(runs, 4), "met")
        self.assertEqual(word(runs, 2), "not measured")
        self.assertEqual(word([run("quern", rate=100.0), run("quern-2t", rate=120.0, server_busy=0.99)], 4), "not measured")

    def test_the_relay_is_measured_against_the_best_other(self):
        runs = [run(name, "relay", per_cpu_second=rate) for name, rate in
                (("quern-relay", 40_000), ("go-relay", 10_000), ("carrier", 5_000))]
        verdict = targets.relay(results.summary(runs)["relay"])
        self.assertIn("go-relay", verdict.what)
        self.assertEqual((verdict.measured, verdict.word), ("4.00 x", "met"))
        self.assertEqual(targets.relay(results.summary(runs[:1])["relay"]).word, "not measured")


class Comparison(unittest.TestCase):
    def rows(self, before, after):
        return {tuple(row[:3]): row[3:] for row in compare.table(result(before), result(after))[1:]}

    def test_a_figure_is_better_worse_or_the_same(self):
        rows = self.rows([run("quern", rate=100.0, cpu_us=10.0, requests=0.2)],
                         [run("quern", rate=120.0, cpu_us=12.0, requests=0.201)])
        self.assertEqual(rows["saturated", "quern", "messages/s"], ["100", "120", "1.20 x", "better", ""])
        self.assertEqual(rows["saturated", "quern", "CPU us a message"][2:], ["1.20 x", "worse", ""])
        self.assertEqual(rows["saturated", "quern", "requests a message"][2:], ["1.00 x", "same", ""])

    def test_only_what_both_have_is_compared(self):
        rows = self.rows([run("quern"), run("boto3"), run("quern", "load-10", handler_us={100: 9})],
                         [run("quern", others_busy=0.5), run("floor"), run("quern", "load-10", handler_us={200: 9})])
        self.assertEqual({key[:2] for key in rows}, {("saturated", "quern"), ("load-10", "quern")})
        self.assertEqual(rows["saturated", "quern", "messages/s"][-1], "disturbed")
        self.assertEqual(rows["load-10", "quern", "p99 to handler"], ["100 us", "200 us", "2.00 x", "worse", ""])

    def test_other_machines_are_told(self):
        other = result([])
        other["machine"] = {**other["machine"], "cpu": "Other CPU"}
        self.assertIn("Other CPU", compare.caution(result([]), other))
        self.assertEqual(compare.caution(result([]), result([])), "")


class Reports(unittest.TestCase):
    def test_the_report_needs_nothing_else(self):
        page = report.as_html(result(SAMPLE))
        self.assertIn("<svg", page)
        self.assertIn("b&lt;3 is absent: no way &amp; so", page)
        self.assertIn("failed: it &lt;fell&gt;", page)
        named = page.replace('xmlns="http://www.w3.org/2000/svg"', "")
        for foreign in (r"https?://", r"\bsrc\s*=", r"\bhref\s*=", r"url\(", r"@import", r"<script", r"<link"):
            self.assertIsNone(re.search(foreign, named), foreign)

    def test_the_kernel_has_a_version_and_no_name_of_its_host(self):
        for release, told in (("6.1.2-host-v9", "6.1.2"), ("6.1", "6.1"), ("5.15.167.4-host", "5.15.167")):
            it = result(SAMPLE)
            it["machine"]["kernel"] = release
            self.assertIn(f", Linux {told}; ", tables.machine(it))

    def test_plots_are_well_formed_and_draw_everybody(self):
        import xml.dom.minidom
        _, _, drawn = report.pieces(result(SAMPLE))
        self.assertEqual(set(drawn), {"throughput", "cpu", "requests", "requests-10", "latency-10", "memory"})
        for svg in drawn.values():
            xml.dom.minidom.parseString(svg)
        self.assertIn("aws-sdk-go", drawn["latency-10"])

    def test_a_curve_of_one_value_can_be_drawn(self):
        self.assertIn("polyline", plot.lines("t", {"a": [(1.0, 100)]}, "x", plot.NINES, plot.by_nines, str, ["a"]))

    def test_a_table_is_as_wide_as_what_it_says(self):
        lines = tables.text([["contender", "messages/s"], ["quern", "1,000"], ["b", "-"]]).splitlines()
        self.assertEqual(lines, ["contender  messages/s", "quern           1,000", "b                   -"])

    def test_a_page_keeps_what_is_around_its_markers(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "benchmarks.md"
            page.write_text(f"# Before\n\n{report.BEGIN}\nold\n{report.END}\nbehind\n")
            (page.with_suffix("")).mkdir()
            (page.with_suffix("") / "gone.svg").write_text("old")
            for _ in range(2):
                report.write_page(result(SAMPLE), page)
            text = page.read_text()
            self.assertTrue(text.startswith(f"# Before\n\n{report.BEGIN}\n\n2026-01-02"), text[:80])
            self.assertTrue(text.endswith(f"{report.END}\nbehind\n"))
            self.assertNotIn("old", text)
            plots = set(re.findall(r"\]\(benchmarks/(.+?)\)", text))
            self.assertEqual(plots, {file.name for file in page.with_suffix("").iterdir()})
            page.write_text("no markers")
            self.assertRaises(ValueError, report.write_page, result(SAMPLE), page)


if __name__ == "__main__":
    unittest.main()
