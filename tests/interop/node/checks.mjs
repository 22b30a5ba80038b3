// The AWS SDK for JavaScript, and sqs-consumer on top of it, against any SQS: the checks of docs/interop.md, one JSON line
// each.
//
// usage: node checks.mjs [CHECK...]
import assert from "node:assert/strict";
import * as aws from "@aws-sdk/client-sqs";
import { Consumer } from "sqs-consumer";

const prefix = process.env.QUERN_INTEROP_PREFIX ?? "node";
const options = { endpoint: process.env.AWS_ENDPOINT_URL_SQS, maxAttempts: 2 };
const sqs = new aws.SQSClient(options);
const { deepEqual: equal } = assert;

const create = async (name, Attributes) =>
  (await sqs.send(new aws.CreateQueueCommand({ QueueName: `${prefix}-${name}`, Attributes }))).QueueUrl;

const attribute = async (QueueUrl, name) =>
  (await sqs.send(new aws.GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["All"] }))).Attributes[name];

const put = (QueueUrl, MessageBody, more = {}) => sqs.send(new aws.SendMessageCommand({ QueueUrl, MessageBody, ...more }));

const receive = async (QueueUrl, more = {}) => (await sqs.send(new aws.ReceiveMessageCommand({
  QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 0, MessageSystemAttributeNames: ["All"], ...more,
}))).Messages ?? [];

// Receives until there are `count`, or five receives more are not enough.
async function collect(queue, count, more = {}) {
  const got = [];
  for (let left = count + 5; left > 0 && got.length < count; --left) {
    got.push(...await receive(queue, { WaitTimeSeconds: 1, ...more }));
  }
  equal(got.length, count, `messages: ${got.length} instead of ${count}`);
  return got;
}

async function remove(QueueUrl, messages) {
  for (const { ReceiptHandle } of messages) await sqs.send(new aws.DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
}

const show = (QueueUrl, { ReceiptHandle }, VisibilityTimeout = 0) =>
  sqs.send(new aws.ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout }));

async function send() {
  const queue = await create("send");
  const bodies = ["plain", 'quotes " \\ \t\n <&> Grüße 你好 😀', "x".repeat(200_000)];
  for (const body of bodies) await put(queue, body);
  const got = await collect(queue, 3, { VisibilityTimeout: 30 });
  equal(got.map((m) => m.Body).sort(), bodies.sort());
  await remove(queue, got);
  equal(await receive(queue), []);
}

async function batch() {
  const QueueUrl = await create("batch", { VisibilityTimeout: "30" });
  const sent = await sqs.send(new aws.SendMessageBatchCommand({
    QueueUrl, Entries: [0, 1, 2].map((n) => ({ Id: `s${n}`, MessageBody: `m${n}` })),
  }));
  equal(sent.Successful.map((e) => e.Id), ["s0", "s1", "s2"]);
  const Entries = (await collect(QueueUrl, 3)).map((m, n) => ({ Id: `d${n}`, ReceiptHandle: m.ReceiptHandle }));
  Entries.splice(1, 0, { Id: "bad", ReceiptHandle: "no-such-handle" });
  const done = await sqs.send(new aws.DeleteMessageBatchCommand({ QueueUrl, Entries }));
  equal(done.Successful.map((e) => e.Id).sort(), ["d0", "d1", "d2"]);
  equal(done.Failed.map((e) => [e.Id, e.Code, e.SenderFault]), [["bad", "ReceiptHandleIsInvalid", true]]);
  equal(await attribute(QueueUrl, "ApproximateNumberOfMessages"), "0");
  equal(await attribute(QueueUrl, "ApproximateNumberOfMessagesNotVisible"), "0");
}

async function visibility() {
  const QueueUrl = await create("visibility", { VisibilityTimeout: "30" });
  await put(QueueUrl, "m");
  const [first] = await collect(QueueUrl, 1);
  equal(await receive(QueueUrl), []);
  await show(QueueUrl, first);
  const [second] = await collect(QueueUrl, 1);
  equal(second.Attributes.ApproximateReceiveCount, "2");
  const changed = await sqs.send(new aws.ChangeMessageVisibilityBatchCommand({
    QueueUrl, Entries: [{ Id: "c", ReceiptHandle: second.ReceiptHandle, VisibilityTimeout: 1 },
      { Id: "bad", ReceiptHandle: "no-such-handle", VisibilityTimeout: 1 }],
  }));
  equal(changed.Successful.map((e) => e.Id), ["c"]);
  const [third] = await collect(QueueUrl, 1);
  equal(third.Attributes.ApproximateReceiveCount, "3");
  equal(changed.Failed.map((e) => [e.Id, e.Code]), [["bad", "ReceiptHandleIsInvalid"]]);
}

async function queue() {
  const QueueName = `${prefix}-queue`;
  const QueueUrl = await create("queue", { VisibilityTimeout: "45" });
  equal((await sqs.send(new aws.GetQueueUrlCommand({ QueueName }))).QueueUrl, QueueUrl);
  equal(await attribute(QueueUrl, "VisibilityTimeout"), "45");
  equal((await attribute(QueueUrl, "QueueArn")).split(":").at(-1), QueueName);
  await sqs.send(new aws.SetQueueAttributesCommand({ QueueUrl, Attributes: { VisibilityTimeout: "50" } }));
  equal(await attribute(QueueUrl, "VisibilityTimeout"), "50");
  await put(QueueUrl, "a");
  await put(QueueUrl, "b");
  equal(await attribute(QueueUrl, "ApproximateNumberOfMessages"), "2");
  await sqs.send(new aws.PurgeQueueCommand({ QueueUrl }));
  equal(await receive(QueueUrl), []);
  await sqs.send(new aws.DeleteQueueCommand({ QueueUrl }));
  await assert.rejects(sqs.send(new aws.GetQueueUrlCommand({ QueueName })), aws.QueueDoesNotExist);
}

async function attributes() {
  const queue = await create("attributes");
  const given = {
    "text": { DataType: "String", StringValue: "Grüße" },
    "kind.number": { DataType: "Number.int", StringValue: "17" },
    "bytes": { DataType: "Binary", BinaryValue: Uint8Array.from({ length: 256 }, (_, n) => n) },
  };
  const trace = "Root=1-5759e988-bd862e3fe1be46a994272793";
  await put(queue, "m", {
    MessageAttributes: given, MessageSystemAttributes: { AWSTraceHeader: { DataType: "String", StringValue: trace } },
  });
  const plain = (all) => Object.entries(all ?? {}).sort().map(([name, a]) =>
    [name, a.DataType, a.StringValue ?? Buffer.from(a.BinaryValue).toString("hex")]);
  const [all] = await collect(queue, 1, { MessageAttributeNames: ["All"], VisibilityTimeout: 0 });
  equal(plain(all.MessageAttributes), plain(given));
  equal(all.Attributes.AWSTraceHeader, trace);
  const [none] = await collect(queue, 1, { VisibilityTimeout: 0 });
  equal(none.MessageAttributes, undefined);
  const [some] = await collect(queue, 1, { MessageAttributeNames: ["kind.*", "text"], VisibilityTimeout: 0 });
  equal(Object.keys(some.MessageAttributes).sort(), ["kind.number", "text"]);
}

async function fifo() {
  const queue = await create("fifo.fifo",
    { FifoQueue: "true", ContentBasedDeduplication: "true", VisibilityTimeout: "30" });
  for (const body of ["a1", "b1", "a2", "a3", "b2", "a1"]) { // the second a1 is a duplicate
    await put(queue, body, { MessageGroupId: body[0] });
  }
  const [head] = await collect(queue, 1, { MaxNumberOfMessages: 1 });
  const others = await receive(queue);
  equal(others.filter((m) => m.Body[0] === head.Body[0]), [], "a group whose head is in flight must wait");
  const order = [];
  for (let got = [head, ...others]; got.length > 0; got = await receive(queue, { WaitTimeSeconds: 1 })) {
    order.push(...got.map((m) => m.Body));
    await remove(queue, got);
  }
  equal(order.filter((b) => b[0] === "a"), ["a1", "a2", "a3"]);
  equal(order.filter((b) => b[0] === "b"), ["b1", "b2"]);
}

// A queue, its dead-letter queue, and a message that has gone from one to the other.
async function killTwice(name) {
  const letters = await create(`${name}-dlq`);
  const arn = await attribute(letters, "QueueArn");
  const source = await create(name, { RedrivePolicy: JSON.stringify({ deadLetterTargetArn: arn, maxReceiveCount: 2 }) });
  await put(source, "poison");
  for (let count = 0; count < 2; ++count) {
    const [got] = await collect(source, 1, { VisibilityTimeout: 30 });
    await show(source, got);
  }
  equal(await receive(source), []);
  return { source, letters, arn };
}

async function dead_letters() {
  const { source, letters } = await killTwice("letters");
  const [dead] = await collect(letters, 1);
  equal(dead.Body, "poison");
  equal(dead.Attributes.DeadLetterQueueSourceArn, await attribute(source, "QueueArn"));
  const sources = await sqs.send(new aws.ListDeadLetterSourceQueuesCommand({ QueueUrl: letters }));
  equal(sources.queueUrls, [source]);
}

async function move_task() {
  const { source, arn } = await killTwice("move");
  await sqs.send(new aws.StartMessageMoveTaskCommand({ SourceArn: arn }));
  let task;
  for (let left = 40; left > 0; --left) {
    [task] = (await sqs.send(new aws.ListMessageMoveTasksCommand({ SourceArn: arn }))).Results;
    if (task.Status !== "RUNNING") break;
    await new Promise((done) => setTimeout(done, 100));
  }
  equal([task.Status, task.ApproximateNumberOfMessagesMoved], ["COMPLETED", 1]);
  const [back] = await collect(source, 1);
  equal(back.Body, "poison");
}

async function long_poll() {
  const queue = await create("poll");
  const began = performance.now();
  const waiting = receive(queue, { WaitTimeSeconds: 8 });
  await new Promise((done) => setTimeout(done, 700));
  await put(queue, "wake");
  equal((await waiting).map((m) => m.Body), ["wake"]);
  const took = performance.now() - began;
  assert.ok(took < 6000, `it was not woken by the message: it took ${Math.round(took)} ms of 8000`);
}

async function tags() {
  const QueueUrl = await create("tags");
  const listed = async () => (await sqs.send(new aws.ListQueueTagsCommand({ QueueUrl }))).Tags;
  await sqs.send(new aws.TagQueueCommand({ QueueUrl, Tags: { team: "mill", tier: "1" } }));
  equal(await listed(), { team: "mill", tier: "1" });
  await sqs.send(new aws.UntagQueueCommand({ QueueUrl, TagKeys: ["tier"] }));
  equal(await listed(), { team: "mill" });
}

async function paging() {
  const urls = [];
  for (const n of [0, 1, 2]) urls.push(await create(`page-${n}`));
  const pages = [];
  for await (const page of aws.paginateListQueues({ client: sqs, pageSize: 2 }, { QueueNamePrefix: `${prefix}-page-` })) {
    pages.push(page.QueueUrls ?? []);
  }
  equal(pages.map((page) => page.length), [2, 1]);
  equal(pages.flat().sort(), urls);
}

async function errors() {
  const QueueUrl = await create("errors");
  const entry = { Id: "a", MessageBody: "m" };
  const refused = (Entries, kind) => assert.rejects(sqs.send(new aws.SendMessageBatchCommand({ QueueUrl, Entries })), kind);
  await refused([], aws.EmptyBatchRequest);
  await refused([entry, entry], aws.BatchEntryIdsNotDistinct);
  await refused(Array.from({ length: 11 }, (_, n) => ({ ...entry, Id: `${n}` })), aws.TooManyEntriesInBatchRequest);
  await assert.rejects(sqs.send(new aws.DeleteMessageCommand({ QueueUrl, ReceiptHandle: "no-such-handle" })),
    aws.ReceiptHandleIsInvalid);
}

async function signature() {
  const refused = (accessKeyId, name) => assert.rejects(
    new aws.SQSClient({ ...options, credentials: { accessKeyId, secretAccessKey: "wrong" } }).send(new aws.ListQueuesCommand()),
    { name });
  await refused(process.env.AWS_ACCESS_KEY_ID, "SignatureDoesNotMatch");
  await refused("AKIAUNKNOWN", "InvalidClientTokenId");
}

// sqs-consumer takes sixty messages, one of which fails at first.
async function consumer() {
  const queueUrl = await create("consumer", { VisibilityTimeout: "30" });
  const bodies = Array.from({ length: 60 }, (_, n) => `c${n}`);
  for (let at = 0; at < bodies.length; at += 10) {
    await sqs.send(new aws.SendMessageBatchCommand({
      QueueUrl: queueUrl, Entries: bodies.slice(at, at + 10).map((MessageBody) => ({ Id: MessageBody, MessageBody })),
    }));
  }
  const seen = [];
  let failures = 0;
  await new Promise((done, failed) => {
    const reader = Consumer.create({
      queueUrl, sqs, batchSize: 10, waitTimeSeconds: 1, terminateVisibilityTimeout: true,
      handleMessage: async (message) => {
        if (message.Body === "c7" && failures++ === 0) throw new Error("not yet");
        seen.push(message.Body);
        return message;
      },
    });
    reader.on("error", failed);
    reader.on("empty", () => reader.stop());
    reader.on("stopped", done);
    reader.start();
  });
  equal(seen.sort(), bodies.sort());
  equal(await attribute(queueUrl, "ApproximateNumberOfMessages"), "0");
  equal(await attribute(queueUrl, "ApproximateNumberOfMessagesNotVisible"), "0");
}

const checks = [send, batch, visibility, queue, attributes, fifo, dead_letters, move_task, long_poll, tags, paging,
  errors, signature, ...(Consumer ? [consumer] : [])];
const wanted = process.argv.slice(2);
for (const check of checks) {
  if (wanted.length > 0 && !wanted.includes(check.name)) continue;
  let why = "";
  try {
    await check();
  } catch (error) {
    why = `${error.name}: ${error.message}`.split("\n").filter((line) => line.trim()).slice(0, 8).join(" ");
  }
  console.log(JSON.stringify({ check: check.name, ok: why === "", why }));
}
