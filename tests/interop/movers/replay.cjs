// replay-aws-dlq, with the endpoint that its command line has no option for.
//
// usage: node replay.cjs FROM TO      URLs of queues
const AWS = require("aws-sdk");
const { redrive } = require("replay-aws-dlq");

const [from, to] = process.argv.slice(2);
const sqs = new AWS.SQS({ endpoint: process.env.AWS_ENDPOINT_URL_SQS, region: process.env.AWS_REGION });
redrive({ from, to, options: { sqs } }).catch(why => {
  console.error(why.message);
  process.exitCode = 1;
});
