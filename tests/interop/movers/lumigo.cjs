// `lumigo-cli replay-sqs-dlq`, as it is but for its reports of use and its search for a newer version, which leave the machine.
//
// usage: node lumigo.cjs FROM TO      names of queues; AWS_ENDPOINT_URL_SQS says where they are
const AWS = require("aws-sdk");

const at = name => require.resolve(`./lumigo-cli/src/${name}`);
for (const [name, exports] of [["lib/analytics.js", { track() {} }], ["lib/version-check.js", { checkVersion() {} }]]) {
  require.cache[at(name)] = { id: at(name), filename: at(name), loaded: true, exports };
}
AWS.config.update({ sqs: { endpoint: process.env.AWS_ENDPOINT_URL_SQS } });

const [from, to] = process.argv.slice(2);
require(at("commands/replay-sqs-dlq.js"))
  .run(["--dlqQueueName", from, "--targetName", to, "--region", process.env.AWS_REGION])
  .catch(why => {
    console.error(why.message);
    process.exitCode = 1;
  });
