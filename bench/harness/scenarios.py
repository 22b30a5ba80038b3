"""What is measured. Each scenario says what the queue is like, what the contender is told, and who takes part."""
from dataclasses import dataclass, field

IN_FLIGHT = 320  # for 32 loops of ten: enough for every contender to fill its core, few enough to cost it nothing

# Those that take part where a run of all would take too long: Quern, and of each platform what is used most.
FEW = ("quern", "sqs-consumer", "aws-sdk-go", "aws-sdk-rust")
SLOW = ("saturated", "load-10", "start", "idle")  # where those take part, once, that need half a minute to warm up
TWO_THREADS = ("saturated", "saturated-4k", "tls")
ASKERS = ("quern", "quern-at-once", "floor", "aws-sdk-rust")  # whose handlers can ask a service


@dataclass(frozen=True)
class Scenario:
    name: str
    title: str
    server: tuple = ()  # options of the server
    in_flight: int = IN_FLIGHT
    handler_ms: int = 0
    fail_one_in: int = 0
    load: float = 0  # share of the contender's own capacity at which messages arrive; 0: there is always another one
    rate: int = 0  # messages a second, the same for all
    delay_ms: int = 0  # of the server's answers; in_flight grows by what that needs
    answer_ms: int = 0  # the same, and in_flight stays
    ask_ms: int = 0  # handlers ask a service over a socket, which answers after that
    full: bool = False  # with everything that Quern does for a user beside: tenants, idempotency, metrics, traces
    kind: str = "steady"  # steady: a window after a warm-up; held: until memory is full; start: until the first message is
    # deleted; idle: all at once, long
    tls: bool = False
    fifo: bool = False
    everyone: bool = False
    bare: bool = False  # a load generator can send the same requests
    relayed: bool = False  # each message becomes a request to a web service; for those that do that alone
    rounds: int = 1
    quick_rounds: int = 0  # 0: not in a quick run
    quick_few: tuple = field(default=())  # who takes part in a quick one, if not the same

    @property
    def needs_capacity(self):
        return bool(self.load or self.delay_ms)

    @property
    def arrives(self):
        return bool(self.load or self.rate)

    def offered(self, capacity):
        """Messages a second that arrive; 0: there is always another one."""
        return self.rate or self.load * capacity

    def given(self, capacity):
        """What is left open until a contender's messages a second are known: (options of the server, in flight)."""
        options, in_flight = list(self.server), self.in_flight
        if self.arrives:
            options += ["--rehearse", "--rate", f"{self.offered(capacity):.1f}"]
        if self.delay_ms:
            # A message is in flight for two answers. Three times what that takes at full speed lets nobody wait for permits.
            options += ["--delay", self.delay_ms]
            in_flight += 10 * round(3 * capacity * 2 * self.delay_ms / 10_000)
        if self.answer_ms:
            options += ["--delay", self.answer_ms]
        return options, in_flight

    def env(self, in_flight):
        return {"BENCH_IN_FLIGHT": str(in_flight), "BENCH_HANDLER_MS": str(self.handler_ms),
                "BENCH_FAIL_ONE_IN": str(self.fail_one_in), "BENCH_FULL": str(int(self.full))}


def group(count):
    return f"{count:,} group{'s' if count > 1 else ''}"


def service(name, title, rate, **more):
    return Scenario(f"service-{name}", title, server=("--poisson",), rate=rate, tls=True, answer_ms=10, ask_ms=20, in_flight=1000, **more)


SCENARIOS = {scenario.name: scenario for scenario in (
    *(service(str(rate), f"{rate:,} messages a second arrive over TLS, SQS answers after 10 ms, handlers ask for 20 ms", rate,
              quick_rounds=1 if rate == 5_000 else 0) for rate in (500, 5_000, 20_000)),
    service("full", "the same 5,000 with tenants' turns, idempotency, metrics and traces", 5_000, full=True),
    Scenario("saturated", "a backlog of 256 B messages", everyone=True, bare=True, rounds=3, quick_rounds=2),
    Scenario("saturated-4k", "a backlog of 4 KiB messages", server=("--body", 4096), everyone=True, bare=True),
    Scenario("saturated-json", "a backlog of 1 KiB of JSON, a sixth of it escaped in the answer", server=("--body", 1024, "--json")),
    *(Scenario(f"load-{percent}", f"messages arrive at random at {percent} % of what the contender can do",
               server=("--poisson",), load=percent / 100, everyone=True, quick_rounds=1 if percent == 10 else 0)
      for percent in (10, 50, 80)),
    *(Scenario(f"rate-{rate}", f"{rate:,} messages a second arrive at random", server=("--poisson",), rate=rate)
      for rate in (1_000, 5_000, 20_000, 50_000)),
    *(Scenario(f"latency-{ms}", f"a backlog, the server answers after {ms} ms", delay_ms=ms,
               quick_rounds=1 if ms == 10 else 0) for ms in (1, 10, 30)),
    *(Scenario(f"waiting-{many}", f"handlers wait for 100 ms, up to {many:,} at once", in_flight=many, handler_ms=100,
               quick_rounds=1 if many == 1_000 else 0, quick_few=("quern", "aws-sdk-go"))
      for many in (10, 1_000, 10_000, 100_000)),
    *(Scenario(f"held-{many}", f"memory: {many:,} messages in handlers that wait", kind="held", in_flight=many,
               handler_ms=30_000, server=("--visibility", 120), quick_rounds=1 if many == 100_000 else 0,
               quick_few=("quern", "aws-sdk-go")) for many in (10, 1_000, 10_000, 100_000)),
    *(Scenario(f"failures-{percent}", f"a backlog, {percent} % of the handlers fail at first", fail_one_in=100 // percent,
               server=("--visibility", 2)) for percent in (1, 20)),
    Scenario("tls", "a backlog, over TLS", tls=True, everyone=True, rounds=2),
    *(Scenario(f"fifo-{many}", f"a backlog in {group(many)} of a FIFO queue", server=("--groups", many), fifo=True,
               quick_rounds=1 if many == 100 else 0, quick_few=("quern", "aws-sdk-go")) for many in (1, 100, 10_000)),
    Scenario("relay", "a backlog, each message becomes a request to a web service, 50 at once", relayed=True, in_flight=50,
             rounds=2),
    Scenario("relay-50", "messages arrive at random at 50 % of what the relay can do, each becomes a request", relayed=True,
             in_flight=50, server=("--poisson",), load=0.5),
    Scenario("start", "from the start of the program to the first message that it deletes", kind="start", everyone=True, rounds=3,
             quick_rounds=1),
    Scenario("idle", "no messages at all", kind="idle", server=("--limit", 0), everyone=True, quick_rounds=1),
)}

CAPACITY, RELAYED = "saturated", "relay"  # where a contender's capacity is taken from


def capacity_from(scenario):
    return RELAYED if scenario.relayed else CAPACITY


@dataclass(frozen=True)
class Pace:
    """Seconds."""
    warm_up: float
    patience: float  # the longest warm-up, for those whose code is compiled while it runs
    window: float
    idle: float
    settle: float = 5.0  # before an idle one is measured
    calm: float = 1.0  # from the backlog of the warm-up to measured arrivals
    turn_over: float = 4.0  # added to a warm-up, at most, until as many messages are done as may be in flight
    fill: float = 12.0  # as long as memory may take to fill

    def of(self, scenario, contender):
        """About how long a run takes."""
        if scenario.kind == "idle":
            return contender.start + self.settle + self.idle
        if scenario.kind == "start":
            return contender.start + 0.5
        if scenario.kind == "held":
            return 2 * contender.start + 1 + min(self.fill, scenario.in_flight / contender.guess)
        turn_over = 0 if scenario.arrives or contender.bare else min(self.turn_over, scenario.in_flight / contender.guess)
        warm_up = max(self.warm_up, turn_over, min(self.patience, contender.warm_up))
        return warm_up + scenario.arrives * self.calm + self.window + contender.start


FULL = Pace(warm_up=1.2, patience=30, window=2.5, idle=40)
QUICK = Pace(warm_up=1.0, patience=4, window=2.0, idle=20)


def rounds_of(scenario, quick, told):
    """How often it is measured; `told`, if the caller says how often."""
    if told:
        return told
    return scenario.quick_rounds if quick else scenario.rounds


def takes_part(contender, scenario, quick, named):
    """Whether it is measured there. Who is named by the caller takes part wherever that makes sense."""
    if contender.relays or scenario.relayed:
        return contender.relays and scenario.relayed
    if scenario.ask_ms and (contender.name not in ASKERS or scenario.full and contender.name != "quern"):
        return False
    if contender.bare or contender.backlog_only:
        return scenario.bare or bool(scenario.ask_ms) and not quick
    if named:
        return True
    if contender.name == "quern-at-once":
        return 0 < scenario.rate <= 5_000 and not scenario.full and not quick
    if contender.threads > 1 and scenario.name not in TWO_THREADS or contender.slow and scenario.name not in SLOW:
        return False
    if quick and scenario.quick_few:
        return contender.name in scenario.quick_few
    return scenario.everyone or contender.name in FEW


def plan(contenders, scenarios, quick, named=(), rounds=0):
    """[(scenario, round, contender)] in the order of the measurement: round by round, so that a slow minute of the machine
    meets all of them. What an arrival rate depends on comes first."""
    chosen = [SCENARIOS[name] for name in SCENARIOS if name in scenarios]
    for first in dict.fromkeys(SCENARIOS[capacity_from(scenario)] for scenario in chosen if scenario.needs_capacity):
        if first not in chosen:
            chosen.insert(0, first)
    out = []
    for scenario in chosen:
        for number in range(1, rounds_of(scenario, quick, rounds) + 1):
            out += [(scenario, number, contender) for contender in contenders
                    if takes_part(contender, scenario, quick, named) and (number == 1 or not contender.slow or named)]
    return out
