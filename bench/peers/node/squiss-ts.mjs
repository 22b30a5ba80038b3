// squiss-ts. A poller has one receive at a time, and polls on while messages are handled and its deletes, which it gathers
// into batches, are under way: a few pollers that share the messages in flight are enough. See README.md.
import { createRequire } from "node:module";
import { SQS } from "@aws-sdk/client-sqs";
import { Squiss } from "squiss-ts";
import { clientOptions, handle, inFlight, loops, queueUrl, run, told } from "./harness.mjs";

const { version } = createRequire(import.meta.url)("./node_modules/squiss-ts/package.json");
const count = Math.min(loops, 16);
const client = new SQS(clientOptions(Math.max(50, 4 * count))); // a poll and some deletes each

const pollers = Array.from({ length: count }, (_, n) => new Squiss({
  queueUrl, SQS: client, bodyFormat: "plain",
  maxInFlight: Math.floor(inFlight / count) + (n < inFlight % count ? 1 : 0),
  receiveBatchSize: 10,
  minReceiveBatchSize: 10, // no receive for a single free place
  receiveWaitTimeSecs: 20,
  receiveSqsAttributes: ["ApproximateReceiveCount"],
  deleteBatchSize: 10,
  deleteWaitMs: 50, // the default of 2 s would show in every latency
  activePollIntervalMs: 0,
}).on("error", told).on("message", async (message) => {
  try {
    await handle(message.raw);
    await message.del();
  } catch {
    message.keep(); // leaves it to the visibility timeout
  }
}));

run(`squiss-ts ${version}`, pollers);
