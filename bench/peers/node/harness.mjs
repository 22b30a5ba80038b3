// What the Node contenders share: the settings of the run, the handler, and the report at the end. Nothing in here is
// particular to a library.
import { writeFileSync } from "node:fs";
import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";

const number = (name, otherwise) => Number(process.env[name] ?? otherwise);
const wait = number("BENCH_HANDLER_MS", 0);
const failOneIn = number("BENCH_FAIL_ONE_IN", 0);

export const queueUrl = process.env.BENCH_QUEUE_URL;
export const inFlight = number("BENCH_IN_FLIGHT", 1);
export const batchSize = Math.min(10, inFlight); // of a receive; ten is the most that SQS gives
export const loops = Math.ceil(inFlight / 10); // each has one batch in hand

// Of the SDK's client: one instance for all, as many sockets as there are requests at a time, and the middleware stack
// resolved once. Keep-alive is the default. See README.md for where this is advised.
export const clientOptions = (requests) => {
  const agent = { keepAlive: true, maxSockets: requests };
  return { requestHandler: { httpAgent: agent, httpsAgent: agent }, cacheMiddleware: true };
};

let started = 0;
let running = 0;
let handled = 0;
let failed = 0;
const latency = new Map();

function count(microseconds) {
  let unit = 1;
  while (microseconds >= 100 * unit) unit *= 10;
  const floor = Math.max(0, Math.floor(microseconds / unit) * unit);
  latency.set(floor, (latency.get(floor) ?? 0) + 1);
}

// The handler: a body is "<microseconds when it was due> <number> <padding>".
export async function handle({ Body, Attributes }) {
  const due = Number(Body.slice(0, 16));
  count((performance.timeOrigin + performance.now()) * 1000 - due);
  ++started;
  ++running;
  if (wait > 0) await sleep(wait);
  --running;
  if (failOneIn > 0 && parseInt(Body.slice(17), 10) % failOneIn === 0 && Attributes.ApproximateReceiveCount === "1") {
    ++failed;
    throw new Error("told to fail");
  }
  ++handled;
}

// Starts one after the other, a few in each turn of the event loop, since ten thousand first requests at once would keep it from
// anything else. At SIGTERM stops: waits until half a second has passed without a handler, so that the last deletes are
// through, ten seconds at most, and leaves the polls that still wait for nothing.
export async function run(version, consumers) {
  let stopped = false;
  process.once("SIGTERM", async () => {
    stopped = true;
    for (const consumer of consumers) consumer.stop();
    const deadline = performance.now() + 10_000;
    let before;
    do {
      before = started;
      await sleep(500);
    } while ((running > 0 || started !== before) && performance.now() < deadline);
    const report = { handled, failed, latency_us: Object.fromEntries(latency), version };
    writeFileSync(process.env.BENCH_RESULT, JSON.stringify(report));
    process.exit(0);
  });
  console.log("ready");
  for (const [n, consumer] of consumers.entries()) {
    if (stopped) break;
    consumer.start();
    if (n % 16 === 15) await turn();
  }
}

export const told = (error) => console.error(`${error.name}: ${error.message}`);
