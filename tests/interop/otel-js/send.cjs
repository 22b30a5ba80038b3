// Sends a message as a program does that OpenTelemetry's packages instrument, its spans to OTEL_EXPORTER_OTLP_ENDPOINT:
// send.cjs QUEUE_URL BODY. Prints the id of its trace.
const { NodeTracerProvider, SimpleSpanProcessor } = require("@opentelemetry/sdk-trace-node");
const { OTLPTraceExporter } = require("@opentelemetry/exporter-trace-otlp-http");
const { registerInstrumentations } = require("@opentelemetry/instrumentation");
const { AwsInstrumentation } = require("@opentelemetry/instrumentation-aws-sdk");

const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(new OTLPTraceExporter())] });
provider.register();
registerInstrumentations({ tracerProvider: provider, instrumentations: [new AwsInstrumentation()] });
const { SQSClient, SendMessageCommand } = require("@aws-sdk/client-sqs"); // only now: it is patched as it is loaded

async function main() {
  const [, , QueueUrl, MessageBody] = process.argv;
  await provider.getTracer("shop").startActiveSpan("order", async (span) => {
    await new SQSClient({}).send(new SendMessageCommand({ QueueUrl, MessageBody }));
    console.log(span.spanContext().traceId);
    span.end();
  });
  await provider.shutdown();
}

main().catch((why) => {
  console.error(why);
  process.exit(1);
});
