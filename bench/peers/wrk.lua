-- wrk as a contender: a receive of ten and a delete of ten by turns, the bytes that Quern sends, but for the headers of its
-- signature. Nothing is read from the answers: this is what the kernel and HTTP cost alone.
-- The handles are well formed and of no message: the yardstick is told to take them (--forget).
local url = os.getenv("BENCH_QUEUE_URL")
local handle = os.getenv("BENCH_HANDLE")

local function post(operation, body)
    return wrk.format("POST", "/", {
        ["Content-Type"] = "application/x-amz-json-1.0",
        ["X-Amz-Target"] = "AmazonSQS." .. operation,
        ["x-amzn-query-mode"] = "true",
        ["User-Agent"] = "quern",
    }, body)
end

local entries = {}
for i = 0, 9 do
    entries[#entries + 1] = string.format('{"Id":"%d","ReceiptHandle":"%s"}', i, handle)
end
local receive, delete

function init(args)
    receive = post("ReceiveMessage", string.format('{"QueueUrl":"%s","MessageSystemAttributeNames":'
        .. '["ApproximateReceiveCount","ApproximateFirstReceiveTimestamp"],"MessageAttributeNames":["All"],'
        .. '"MaxNumberOfMessages":10,"VisibilityTimeout":30,"WaitTimeSeconds":20}', url))
    delete = post("DeleteMessageBatch", string.format('{"QueueUrl":"%s","Entries":[%s]}', url, table.concat(entries, ",")))
end

local turn = false
function request()
    turn = not turn
    return turn and receive or delete
end
