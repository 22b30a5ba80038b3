// Serves fauxqs on 127.0.0.1 (its own command listens on every interface) and prints where, as JSON.
import { buildApp } from "fauxqs";

const app = buildApp({ logger: false });
const url = await app.listen({ port: 0, host: "127.0.0.1" });
console.log(JSON.stringify({ url }));
