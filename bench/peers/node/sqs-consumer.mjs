// sqs-consumer. A consumer has one poll at a time, and polls again when the batch is done; so there is one for each batch
// that may be in hand. handleMessageBatch deletes by batches, where handleMessage takes a request for each message.
import { createRequire } from "node:module";
import { SQSClient } from "@aws-sdk/client-sqs";
import { Consumer } from "sqs-consumer";
import { batchSize, clientOptions, handle, loops, queueUrl, run, told } from "./harness.mjs";

const { version } = createRequire(import.meta.url)("./node_modules/sqs-consumer/package.json");
const sqs = new SQSClient(clientOptions(loops));

const consumers = Array.from({ length: loops }, () => Consumer.create({
  queueUrl, sqs, batchSize, waitTimeSeconds: 20, messageSystemAttributeNames: ["ApproximateReceiveCount"],
  suppressFifoWarning: true,
  // What is returned is deleted.
  handleMessageBatch: async (messages) => {
    const outcomes = await Promise.allSettled(messages.map(handle));
    return messages.filter((_, n) => outcomes[n].status === "fulfilled");
  },
}).on("error", told));

run(`sqs-consumer ${version}`, consumers);
