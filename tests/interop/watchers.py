"""Those who watch Quern: Prometheus with promtool and Alertmanager, the parser of OpenMetrics, Grafana's models of a dashboard, and
CloudWatch as moto has it. A check raises Wrong with what it found."""
import http.server
import json
import re
import subprocess
import threading
import urllib.parse
import urllib.request
from contextlib import contextmanager

import peers
import rule_days
from kits import HERE, KITS
from relay_ground import Ground, until
from workloads import LIMIT, Wrong, equal, verdicts

EXAMPLES = HERE.parent.parent / "docs/examples"
DASHBOARD = EXAMPLES / "grafana-dashboard.json"
POLICY = json.dumps({"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead", "maxReceiveCount": 1})


def fetch(url, **headers):
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=LIMIT) as answer:
        return answer.read().decode()


def ran(command, **options):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, timeout=LIMIT, **options)
    if done.returncode != 0:
        raise Wrong(f"{command[0]} {command[1]}: {(done.stdout + done.stderr).strip()[-300:]}")
    return done.stdout + done.stderr


class Watched:
    """A consumer with an admin port that has seen something of everything, and who watches it."""

    def __init__(self, ground):
        self.ground, self.folder = ground, ground.folder
        ground.create("dead")
        ground.call("SetQueueAttributes", QueueUrl=ground.queue, Attributes={"RedrivePolicy": POLICY})

    def binary(self, name):
        return KITS["prometheus"].folder / "root/usr/bin" / name

    def python(self, script, *arguments):
        at = KITS["prometheus"].folder
        return ran([at / "venv/bin/python", at / script, *arguments])

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text if isinstance(text, str) else json.dumps(text))  # JSON is YAML too
        return path

    def rules(self):
        return self.write("orders.rules.yml", ran([self.ground.program, "alarms", "rules", "--queue", "orders", "--dead-letter-queue", "orders-dead"]))

    def make_dead_letter(self):
        self.ground.send(["poison"])
        ran([self.ground.program, "consume", "orders", "--until-empty", "--wait-time", "1", "--exec", "exit 1"], env=self.ground.variables())

    def consumer(self):
        """The URL of its admin port. The depths of the queues are asked for when it begins, and then once a minute."""
        self.write("flag", "closed")
        running = self.ground.start(
            [self.ground.program, "consume", "orders", "--admin-port", "0", "--wait-time", "1", "--drain-deadline", "1",
             "--flag", f"file:{self.folder}/flag", "--exec", "read body; case $body in slow) sleep 100;; esac"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for line in running.stderr:
            if "watch it at " in line:
                threading.Thread(target=running.stderr.read, daemon=True).start()
                return line.split()[-1].rstrip("/")
        raise Wrong("quern consume showed no admin port")

    def prometheus(self, targets, alertmanager=None):
        """The URL of one that looks once a second."""
        port, rules = peers.free_port(), self.rules()
        settings = {"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": [str(rules)],
                    "scrape_configs": [{"job_name": "shop", "static_configs": [{"targets": targets}]}]}
        if alertmanager:
            settings["alerting"] = {"alertmanagers": [{"static_configs": [{"targets": [alertmanager]}]}]}
        command = [self.binary("prometheus"), f"--config.file={self.write('prometheus.yml', settings)}",
                   f"--storage.tsdb.path={self.folder}/tsdb", f"--web.listen-address=127.0.0.1:{port}"]
        self.listens(command, port)
        return self.ready(f"http://127.0.0.1:{port}")

    def alertmanager(self, hook):
        port = peers.free_port()
        settings = {"route": {"receiver": "us", "group_wait": "0s", "group_by": ["alertname"]},
                    "receivers": [{"name": "us", "webhook_configs": [{"url": hook}]}]}
        command = [self.binary("prometheus-alertmanager"), f"--config.file={self.write('alertmanager.yml', settings)}",
                   f"--storage.path={self.folder}/alerts", f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address="]
        # Debian's looks for a template in /usr/share and nowhere else: it sees its own there.
        share = KITS["prometheus"].folder / "root/usr/share"
        self.listens(command, port, ["unshare", "-rm", "sh", "-c", 'mount --bind "$0" /usr/share && exec "$@"', share])
        return self.ready(f"http://127.0.0.1:{port}")

    def ready(self, url):
        def answers():
            try:
                return bool(fetch(url + "/-/ready"))
            except OSError:
                return False
        until(answers, f"{url} is ready", 30)
        return url

    def listens(self, command, port, through=()):
        with open(self.folder / "watcher.log", "w") as log:
            running = self.ground.start([*through, *command], stdout=subprocess.DEVNULL, stderr=log)
        until(lambda: peers.is_open(port) or running.poll() is not None, f"{command[0].name} listens")
        if running.poll() is not None:
            raise Wrong(f"{command[0].name} did not start: {(self.folder / 'watcher.log').read_text()[-300:]}")


def asked(url, query):
    """The series that Prometheus answers with."""
    answer = json.loads(fetch(f"{url}/api/v1/query?{urllib.parse.urlencode({'query': query})}"))
    if answer["status"] != "success" or answer.get("warnings"):
        raise Wrong(f"{query}: {answer}")
    return answer["data"]["result"]


# ---- Prometheus ----

def page(ground):
    """promtool finds nothing to complain about, and the parser of OpenMetrics reads there what the plain page says."""
    it = Watched(ground)
    it.make_dead_letter()
    url = it.consumer() + "/metrics"
    ground.send([f"m{n}" for n in range(20)] + ["slow"])  # while one is held, all numbers are there
    until(lambda: 'outcome="acked"} 20\n' in fetch(url) and "quern_dead_letter" in fetch(url), "the numbers are all there")
    text = fetch(url)
    equal(ran([it.binary("promtool"), "check", "metrics"], input=text), "", "complaints of promtool")
    other = it.write("openmetrics", fetch(url, Accept="application/openmetrics-text; version=1.0.0"))
    it.python("openmetrics.py", it.write("plain", text), other)


def rules(ground):
    """Days of made-up numbers, on which each of our rules fires and does not."""
    it = Watched(ground)
    path = it.rules()
    said = ran([it.binary("promtool"), "check", "rules", path])
    names = re.findall(r"alert: (\w+)", path.read_text())
    equal(f"SUCCESS: {len(names)} rules found" in said, True, said)
    summaries = re.findall(r"summary: '(.*)'", path.read_text())
    ran([it.binary("promtool"), "test", "rules", it.write("days.json", rule_days.days(path, dict(zip(names, summaries))))])


def alert(ground):
    """A dead letter makes the web hook ring."""
    calls = []

    class Hook(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            calls.extend(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["alerts"])
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    it = Watched(ground)
    it.make_dead_letter()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            alertmanager = it.alertmanager(f"http://127.0.0.1:{server.server_port}/")
            it.prometheus([it.consumer().removeprefix("http://")], alertmanager.removeprefix("http://"))
            until(lambda: calls, "the web hook was called", 60)
        finally:
            server.shutdown()
    said = calls[0]
    equal((said["status"], said["labels"]), ("firing", {"alertname": "QuernDeadLetters", "job": "shop", "queue": "orders", "severity": "page"}),
          "the alert")
    equal("quern dead-letters" in said["annotations"]["summary"], True, "what to do")


def dashboard(ground):
    """Prometheus answers every query of the dashboard, and with numbers; those for KEDA with one."""
    it = Watched(ground)
    it.make_dead_letter()
    url = it.prometheus([it.consumer().removeprefix("http://")])
    ground.send([f"m{n}" for n in range(20)] + ["slow"])
    panels = json.loads(DASHBOARD.read_text())["panels"]
    queries = [target["expr"] for panel in panels for target in panel.get("targets", [])]
    for name, value in (("$job", "shop"), ("$queue", "orders|other"), ("$__rate_interval", "1m")):
        queries = [query.replace(name, value) for query in queries]
    # No request fails here, nothing need be in the way, and nothing is redriven.
    quiet = {query for query in queries if 'result!="ok"' in query or "quern_obstacle" in query or "quern_redrive" in query}
    equal(len(quiet), 5, "queries without an answer")
    for query in quiet:
        asked(url, query)
    silent = set(queries) - quiet

    def all_answer():
        silent.intersection_update({query for query in silent if not asked(url, query)})
        return not silent
    try:
        until(all_answer, "all are answered", 30)
    except Wrong:
        raise Wrong(f"no series for {sorted(silent)}") from None
    for query in re.findall(r"^ +query: '(.*)'$", (EXAMPLES / "keda-prometheus.yaml").read_text(), re.M):
        equal(len(asked(url, query.replace("orders-relay", "shop"))), 1, query)


def grafana(ground):
    """Grafana's models take the dashboard as it is."""
    Watched(ground).python("grafana.py", DASHBOARD)


# ---- CloudWatch ----

class Cloud:
    """moto, with a queue and its dead-letter queue."""

    def __init__(self, quern, where):
        self.program, self.where = quern, {**where, "AWS_ENDPOINT_URL_CLOUDWATCH": where["AWS_ENDPOINT_URL_SQS"]}
        self.quern("queue", "create", "dead")
        self.quern("queue", "create", "orders", "--attribute", f"RedrivePolicy={POLICY}".replace("000000000000", "123456789012"))

    def quern(self, *words, **options):
        return ran([self.program, *words], env=self.where, **options)

    def aws(self, *words):
        command = [KITS["python"].folder / "venv/bin/aws", "cloudwatch", *words, "--endpoint-url", self.where["AWS_ENDPOINT_URL_SQS"],
                   "--output", "json"]
        return json.loads(ran(command, env=self.where))


def cloudwatch_metrics(cloud):
    cloud.quern("send", "orders", input="".join(f"m{n}\n" for n in range(25)))
    cloud.quern("consume", "orders", "--until-empty", "--wait-time", "1", "--metrics", "cloudwatch")
    names = {one["MetricName"] for one in cloud.aws("list-metrics", "--namespace", "Quern")["Metrics"]}
    equal({"MessagesReceived", "MessagesAcked", "ProcessDuration", "DeadLetters"} - names, set(), "names that moto lacks")
    for name, statistic, wanted in (("MessagesAcked", "Sum", 25), ("ProcessDuration", "SampleCount", 25)):
        points = cloud.aws("get-metric-statistics", "--namespace", "Quern", "--metric-name", name, "--dimensions", "Name=QueueName,Value=orders",
                           "--statistics", statistic, "--period", "3600", "--start-time", "2020-01-01T00:00:00Z",
                           "--end-time", "2100-01-01T00:00:00Z")["Datapoints"]
        equal(sum(point[statistic] for point in points), wanted, f"{statistic} of {name}")


def cloudwatch_alarms(cloud):
    topic = "arn:aws:sns:us-east-1:123456789012:on-call"
    put = cloud.quern("alarms", "put", "--queue", "orders", "--topic", topic, "--max-age", "2h").splitlines()
    cloud.quern("alarms", "put", "--queue", "orders", "--topic", topic, "--max-age", "1h")  # changes them
    there = {one["AlarmName"]: one for one in cloud.aws("describe-alarms")["MetricAlarms"]}
    equal(sorted(there), sorted(put), "alarms")
    equal({tuple(one["AlarmActions"]) for one in there.values()}, {(topic,)}, "whom they tell")
    equal(there["quern orders: age"]["Threshold"], 3600.0, "the age")
    dead = there["quern orders: dead letters"]
    equal((dead["MetricName"], dead["Dimensions"]), ("ApproximateNumberOfMessagesVisible", [{"Name": "QueueName", "Value": "dead"}]), "dead letters")
    equal(sorted(one["Id"] for one in there["quern orders: failed redrives"]["Metrics"]), ["failed", "good", "result"], "of failed redrives")


@contextmanager
def on_moto(quern):
    with peers.SERVERS["moto"][1]() as where:
        yield Cloud(quern, where)


# name: (kits, what each check stands on, {check: function of that})
WATCHERS = {
    "prometheus": (("prometheus",), Ground, {"page": page, "rules": rules, "alert": alert, "dashboard": dashboard, "grafana": grafana}),
    "cloudwatch": (("python",), on_moto, {"metrics": cloudwatch_metrics, "alarms": cloudwatch_alarms}),
}


def run(name, quern):
    _, ground, checks = WATCHERS[name]
    return verdicts(checks, lambda: ground(quern))
