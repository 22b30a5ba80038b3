import AWS from "aws-sdk";

export class SQSClient {
  constructor({ endpoint, maxAttempts, credentials }) {
    this.sqs = new AWS.SQS({ endpoint, maxRetries: maxAttempts - 1, ...(credentials && { credentials: new AWS.Credentials(credentials) }) });
  }

  async send({ operation, input }) {
    try {
      return await this.sqs[operation](input).promise();
    } catch (error) {
      const known = errors[error.code.split(".").at(-1)];
      throw known ? Object.assign(new known(error.message), { name: error.code }) : error;
    }
  }
}

const command = (operation, translate = (input) => input) => class {
  constructor(input = {}) {
    Object.assign(this, { operation, input: translate(input) });
  }
};
export const ChangeMessageVisibilityCommand = command("changeMessageVisibility");
export const ChangeMessageVisibilityBatchCommand = command("changeMessageVisibilityBatch");
export const CreateQueueCommand = command("createQueue");
export const DeleteMessageCommand = command("deleteMessage");
export const DeleteMessageBatchCommand = command("deleteMessageBatch");
export const DeleteQueueCommand = command("deleteQueue");
export const GetQueueAttributesCommand = command("getQueueAttributes");
export const GetQueueUrlCommand = command("getQueueUrl");
export const ListDeadLetterSourceQueuesCommand = command("listDeadLetterSourceQueues");
export const ListMessageMoveTasksCommand = command("listMessageMoveTasks");
export const ListQueuesCommand = command("listQueues");
export const ListQueueTagsCommand = command("listQueueTags");
export const PurgeQueueCommand = command("purgeQueue");
export const ReceiveMessageCommand = command("receiveMessage",
  ({ MessageSystemAttributeNames: AttributeNames, ...others }) => ({ ...others, AttributeNames })); // its former name
export const SendMessageCommand = command("sendMessage");
export const SendMessageBatchCommand = command("sendMessageBatch");
export const SetQueueAttributesCommand = command("setQueueAttributes");
export const StartMessageMoveTaskCommand = command("startMessageMoveTask");
export const TagQueueCommand = command("tagQueue");
export const UntagQueueCommand = command("untagQueue");

export async function* paginateListQueues({ client, pageSize: MaxResults }, input) {
  for (let NextToken; ;) {
    const page = await client.send(new ListQueuesCommand({ ...input, MaxResults, NextToken }));
    yield page;
    if (!(NextToken = page.NextToken)) return;
  }
}

export class QueueDoesNotExist extends Error {}
export class EmptyBatchRequest extends Error {}
export class BatchEntryIdsNotDistinct extends Error {}
export class TooManyEntriesInBatchRequest extends Error {}
export class ReceiptHandleIsInvalid extends Error {}
const errors = { // by the last word of their codes
  NonExistentQueue: QueueDoesNotExist, EmptyBatchRequest, BatchEntryIdsNotDistinct, TooManyEntriesInBatchRequest,
  ReceiptHandleIsInvalid,
};

export const Consumer = null; // sqs-consumer is at home with the third only
