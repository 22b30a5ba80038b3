// A web service on Node for the relay's checks, with the packages that its users would take: verifies signatures with
// `standardwebhooks`, reads events with `cloudevents`. Prints its address, and a line of JSON for each request.
//
// usage: hook.mjs [SECRET]    with a secret each request must be signed; answers 401 when it is not
//
// Each body is answered with 503 and Retry-After: 1 the first time, and with 200 from then on.
import http from "node:http";
import { HTTP } from "cloudevents";
import { Webhook } from "standardwebhooks";

const secret = process.argv[2];
const seen = new Map();

function look(headers, body) {
  const told = { event: null, wrong: null };
  try {
    if (secret) new Webhook(secret).verify(body, headers);
    if (headers["ce-id"] || headers["content-type"].startsWith("application/cloudevents")) {
      const event = HTTP.toEvent({ headers, body });
      event.validate();
      told.event = { id: event.id, source: event.source, type: event.type, time: event.time, data: event.data,
        datacontenttype: event.datacontenttype };
    }
  } catch (error) {
    told.wrong = String(error);
  }
  return told;
}

const server = http.createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    const body = Buffer.concat(parts).toString();
    const told = look(request.headers, body);
    const key = request.headers["idempotency-key"] ?? body;
    const time = seen.get(key) ?? 0;
    seen.set(key, time + 1);
    console.log(JSON.stringify({ method: request.method, target: request.url, headers: request.rawHeaders, body, time, ...told }));
    if (told.wrong) response.statusCode = 401;
    else if (time === 0) response.writeHead(503, { "Retry-After": "1" });
    response.end();
  });
});
server.listen(0, "127.0.0.1", () => console.log(`127.0.0.1:${server.address().port}`));
