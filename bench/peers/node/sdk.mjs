// A plain loop of the AWS SDK for JavaScript: as many loops as there may be batches in hand, each of them receives, handles
// the ten at once, and deletes those that succeeded in one request.
import { createRequire } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import { DeleteMessageBatchCommand, ReceiveMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { batchSize, clientOptions, handle, loops, queueUrl, run, told } from "./harness.mjs";

const { version } = createRequire(import.meta.url)("@aws-sdk/client-sqs/package.json");
const sqs = new SQSClient(clientOptions(loops));
let stopped = false;

const receive = () => new ReceiveMessageCommand({
  QueueUrl: queueUrl, MaxNumberOfMessages: batchSize, WaitTimeSeconds: 20,
  MessageSystemAttributeNames: ["ApproximateReceiveCount"],
});

async function loop() {
  while (!stopped) {
    try {
      const { Messages = [] } = await sqs.send(receive());
      const outcomes = await Promise.allSettled(Messages.map(handle));
      const Entries = Messages.filter((_, n) => outcomes[n].status === "fulfilled")
        .map(({ ReceiptHandle }, n) => ({ Id: `${n}`, ReceiptHandle }));
      if (Entries.length > 0) {
        const { Failed } = await sqs.send(new DeleteMessageBatchCommand({ QueueUrl: queueUrl, Entries }));
        if (Failed?.length) console.error(`${Failed.length} were not deleted: ${Failed[0].Code}`);
      }
    } catch (error) {
      told(error);
      await sleep(1000);
    }
  }
}

run(`@aws-sdk/client-sqs ${version}`, Array.from({ length: loops }, () => ({ start: loop, stop: () => { stopped = true; } })));
