// Serves local-aws-sqs on 127.0.0.1 and prints where, as JSON. usage: local-aws-sqs.mjs PORT
import { createSqsServer } from "local-aws-sqs";

const port = Number(process.argv[2]);
await createSqsServer({ port, hostname: "127.0.0.1" });
console.log(JSON.stringify({ url: `http://127.0.0.1:${port}` }));
