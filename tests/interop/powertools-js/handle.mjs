// Handles one order with Powertools, and prints what became of it, as JSON: "ran", "stored" with the result, "in progress",
// "mismatch".
//
// usage: handle.mjs TABLE PREFIX BODY [hold]     hold: says "holding" in its function, and goes on at a line of standard input
import { createInterface } from "node:readline";
import { IdempotencyConfig, makeIdempotent } from "@aws-lambda-powertools/idempotency";
import { DynamoDBPersistenceLayer } from "@aws-lambda-powertools/idempotency/dynamodb";

const [tableName, keyPrefix, body, hold] = process.argv.slice(2);
const say = (said, more = {}) => console.log(JSON.stringify({ said, ...more }));
let ran = false;

const work = async (order) => {
  ran = true;
  if (hold) {
    say("holding");
    const lines = createInterface({ input: process.stdin });
    await new Promise((resolve) => lines.once("line", resolve));
    lines.close();
  }
  return { did: order.id, by: "typescript" };
};

const handle = makeIdempotent(work, {
  persistenceStore: new DynamoDBPersistenceLayer({
    tableName,
    clientConfig: { endpoint: process.env.AWS_ENDPOINT_URL_DYNAMODB },
  }),
  config: new IdempotencyConfig({
    eventKeyJmesPath: "id",
    payloadValidationJmesPath: "amount",
    lambdaContext: { getRemainingTimeInMillis: () => 60_000 },
  }),
  keyPrefix,
});

try {
  const result = await handle(JSON.parse(body), {});
  say(ran ? "ran" : "stored", { result });
} catch (why) {
  const names = { IdempotencyAlreadyInProgressError: "in progress", IdempotencyValidationError: "mismatch" };
  say(names[why.name] ?? `${why.name}: ${why.message}`);
}
process.exit(0);
