// Gives the checks of ../node the second AWS SDK for JavaScript, which speaks the query protocol, in the third one's clothes.
//
// usage: node --import ./as-v3.mjs checks.mjs [CHECK...]
import { register } from "node:module";

const clothes = JSON.stringify(new URL("clothes.mjs", import.meta.url).href);
register("data:text/javascript," + encodeURIComponent(`export const resolve = (name, context, next) =>
  ["@aws-sdk/client-sqs", "sqs-consumer"].includes(name) ? { url: ${clothes}, shortCircuit: true } : next(name, context);`));
