// The AWS SDK for Java 2 against any SQS: the checks of docs/interop.md, one JSON line each.
//
// usage: java -cp ... Checks [CHECK...]

import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.awscore.exception.AwsServiceException;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.http.urlconnection.UrlConnectionHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.sqs.SqsClient;
import software.amazon.awssdk.services.sqs.model.BatchEntryIdsNotDistinctException;
import software.amazon.awssdk.services.sqs.model.DeleteMessageBatchRequestEntry;
import software.amazon.awssdk.services.sqs.model.EmptyBatchRequestException;
import software.amazon.awssdk.services.sqs.model.ListMessageMoveTasksResultEntry;
import software.amazon.awssdk.services.sqs.model.Message;
import software.amazon.awssdk.services.sqs.model.MessageAttributeValue;
import software.amazon.awssdk.services.sqs.model.MessageSystemAttributeName;
import software.amazon.awssdk.services.sqs.model.MessageSystemAttributeNameForSends;
import software.amazon.awssdk.services.sqs.model.MessageSystemAttributeValue;
import software.amazon.awssdk.services.sqs.model.QueueAttributeName;
import software.amazon.awssdk.services.sqs.model.QueueDoesNotExistException;
import software.amazon.awssdk.services.sqs.model.ReceiptHandleIsInvalidException;
import software.amazon.awssdk.services.sqs.model.ReceiveMessageRequest;
import software.amazon.awssdk.services.sqs.model.SendMessageBatchRequestEntry;
import software.amazon.awssdk.services.sqs.model.TooManyEntriesInBatchRequestException;

class Checks {
    private static final String KEY = System.getenv("AWS_ACCESS_KEY_ID");
    private static final String PREFIX = System.getenv().getOrDefault("QUERN_INTEROP_PREFIX", "java");
    private static final SqsClient sqs = connect(KEY, System.getenv("AWS_SECRET_ACCESS_KEY"));

    private static SqsClient connect(String key, String secret) {
        return SqsClient.builder()
            .region(Region.of(System.getenv().getOrDefault("AWS_REGION", "us-east-1")))
            .endpointOverride(URI.create(System.getenv("AWS_ENDPOINT_URL_SQS")))
            .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create(key, secret)))
            .httpClient(UrlConnectionHttpClient.create())
            .overrideConfiguration(c -> c.apiCallTimeout(Duration.ofSeconds(30)))
            .build();
    }

    private static void equal(Object found, Object wanted, String what) {
        if (!Objects.equals(found, wanted)) throw new AssertionError(what + ": " + found + " instead of " + wanted);
    }

    private static String create(String name, Map<QueueAttributeName, String> attributes) {
        return sqs.createQueue(q -> q.queueName(PREFIX + "-" + name).attributes(attributes)).queueUrl();
    }

    private static String attribute(String queue, QueueAttributeName name) {
        return sqs.getQueueAttributes(q -> q.queueUrl(queue).attributeNames(QueueAttributeName.ALL)).attributes().get(name);
    }

    private static void put(String queue, String body) {
        sqs.sendMessage(m -> m.queueUrl(queue).messageBody(body));
    }

    private static List<Message> receive(String queue, Consumer<ReceiveMessageRequest.Builder> more) {
        return sqs.receiveMessage(r -> {
            r.queueUrl(queue).maxNumberOfMessages(10).visibilityTimeout(30)
                .messageSystemAttributeNames(MessageSystemAttributeName.ALL);
            more.accept(r);
        }).messages();
    }

    private static List<Message> receive(String queue) {
        return receive(queue, r -> {});
    }

    // Receives until there are `count`, or five receives more are not enough.
    private static List<Message> collect(String queue, int count, Consumer<ReceiveMessageRequest.Builder> more) {
        var got = new ArrayList<Message>();
        for (int left = count + 5; left > 0 && got.size() < count; --left) {
            got.addAll(receive(queue, r -> more.accept(r.waitTimeSeconds(1))));
        }
        equal(got.size(), count, "messages");
        return got;
    }

    private static Message one(String queue) {
        return collect(queue, 1, r -> {}).get(0);
    }

    private static void delete(String queue, List<Message> messages) {
        for (var m : messages) sqs.deleteMessage(d -> d.queueUrl(queue).receiptHandle(m.receiptHandle()));
    }

    private static void show(String queue, Message m) {
        sqs.changeMessageVisibility(c -> c.queueUrl(queue).receiptHandle(m.receiptHandle()).visibilityTimeout(0));
    }

    private static List<String> bodies(List<Message> messages) {
        return messages.stream().map(Message::body).toList();
    }

    private static List<String> sorted(List<String> list) {
        return list.stream().sorted().toList();
    }

    static void send() {
        var queue = create("send", Map.of());
        var texts = List.of("plain", "quotes \" \\ \t\n <&> Gr\u00fc\u00dfe \u4f60\u597d \ud83d\ude00", "x".repeat(200_000));
        for (var text : texts) put(queue, text);
        var got = collect(queue, 3, r -> {});
        equal(sorted(bodies(got)), sorted(texts), "bodies");
        delete(queue, got);
        equal(bodies(receive(queue)), List.of(), "after the deletes");
    }

    static void batch() {
        var queue = create("batch", Map.of());
        var sent = sqs.sendMessageBatch(b -> b.queueUrl(queue).entries(
            e -> e.id("s0").messageBody("m0"), e -> e.id("s1").messageBody("m1"), e -> e.id("s2").messageBody("m2")));
        equal(sent.successful().size(), 3, "sent");
        var entries = new ArrayList<DeleteMessageBatchRequestEntry>();
        entries.add(DeleteMessageBatchRequestEntry.builder().id("bad").receiptHandle("no-such-handle").build());
        for (var m : collect(queue, 3, r -> {})) {
            entries.add(DeleteMessageBatchRequestEntry.builder()
                .id("d" + (entries.size() - 1)).receiptHandle(m.receiptHandle()).build());
        }
        var done = sqs.deleteMessageBatch(b -> b.queueUrl(queue).entries(entries));
        equal(sorted(done.successful().stream().map(e -> e.id()).toList()), List.of("d0", "d1", "d2"), "deleted");
        equal(done.failed().stream().map(e -> e.id() + " " + e.code() + " " + e.senderFault()).toList(),
            List.of("bad ReceiptHandleIsInvalid true"), "failed");
        equal(attribute(queue, QueueAttributeName.APPROXIMATE_NUMBER_OF_MESSAGES), "0", "left");
        equal(attribute(queue, QueueAttributeName.APPROXIMATE_NUMBER_OF_MESSAGES_NOT_VISIBLE), "0", "left in flight");
    }

    static void visibility() {
        var queue = create("visibility", Map.of());
        put(queue, "m");
        var first = one(queue);
        equal(bodies(receive(queue)), List.of(), "while it is hidden");
        show(queue, first);
        var second = one(queue);
        equal(second.attributes().get(MessageSystemAttributeName.APPROXIMATE_RECEIVE_COUNT), "2", "receive count");
        var done = sqs.changeMessageVisibilityBatch(b -> b.queueUrl(queue).entries(
            e -> e.id("c").receiptHandle(second.receiptHandle()).visibilityTimeout(1),
            e -> e.id("bad").receiptHandle("no-such-handle").visibilityTimeout(1)));
        equal(done.successful().size(), 1, "changed");
        var third = one(queue);
        equal(third.attributes().get(MessageSystemAttributeName.APPROXIMATE_RECEIVE_COUNT), "3", "receive count");
        equal(done.failed().stream().map(e -> e.id() + " " + e.code()).toList(),
            List.of("bad ReceiptHandleIsInvalid"), "failed");
    }

    static void queue() {
        var name = PREFIX + "-queue";
        var queue = create("queue", Map.of(QueueAttributeName.VISIBILITY_TIMEOUT, "45"));
        equal(sqs.getQueueUrl(q -> q.queueName(name)).queueUrl(), queue, "URL");
        equal(attribute(queue, QueueAttributeName.VISIBILITY_TIMEOUT), "45", "VisibilityTimeout");
        equal(attribute(queue, QueueAttributeName.QUEUE_ARN).endsWith(":" + name), true, "ARN");
        sqs.setQueueAttributes(q -> q.queueUrl(queue).attributes(Map.of(QueueAttributeName.VISIBILITY_TIMEOUT, "50")));
        equal(attribute(queue, QueueAttributeName.VISIBILITY_TIMEOUT), "50", "VisibilityTimeout");
        put(queue, "a");
        put(queue, "b");
        equal(attribute(queue, QueueAttributeName.APPROXIMATE_NUMBER_OF_MESSAGES), "2", "count");
        sqs.purgeQueue(q -> q.queueUrl(queue));
        equal(bodies(receive(queue)), List.of(), "after the purge");
        sqs.deleteQueue(q -> q.queueUrl(queue));
        try {
            equal(sqs.getQueueUrl(q -> q.queueName(name)).queueUrl(), null, "URL of a queue that is gone");
        } catch (QueueDoesNotExistException expected) {
            return;
        }
    }

    static void attributes() {
        var queue = create("attributes", Map.of());
        var bytes = new byte[256];
        for (int n = 0; n < bytes.length; ++n) bytes[n] = (byte) n;
        var given = Map.of(
            "text", MessageAttributeValue.builder().dataType("String").stringValue("Gr\u00fc\u00dfe").build(),
            "kind.number", MessageAttributeValue.builder().dataType("Number.int").stringValue("17").build(),
            "bytes", MessageAttributeValue.builder().dataType("Binary").binaryValue(SdkBytes.fromByteArray(bytes)).build());
        var trace = "Root=1-5759e988-bd862e3fe1be46a994272793";
        sqs.sendMessage(m -> m.queueUrl(queue).messageBody("m").messageAttributes(given).messageSystemAttributes(
            Map.of(MessageSystemAttributeNameForSends.AWS_TRACE_HEADER,
                MessageSystemAttributeValue.builder().dataType("String").stringValue(trace).build())));
        var all = collect(queue, 1, r -> r.messageAttributeNames("All")).get(0);
        equal(all.messageAttributes(), given, "attributes");
        equal(all.attributes().get(MessageSystemAttributeName.AWS_TRACE_HEADER), trace, "AWSTraceHeader");
        show(queue, all);
        var none = one(queue);
        equal(none.messageAttributes().size(), 0, "attributes that nobody asked for");
        show(queue, none);
        var some = collect(queue, 1, r -> r.messageAttributeNames("kind.*", "text")).get(0);
        equal(some.messageAttributes().size(), 2, "attributes by name");
    }

    static void fifo() {
        var queue = create("fifo.fifo", Map.of(
            QueueAttributeName.FIFO_QUEUE, "true", QueueAttributeName.CONTENT_BASED_DEDUPLICATION, "true"));
        for (var body : List.of("a1", "b1", "a2", "a3", "b2", "a1")) { // the second a1 is a duplicate
            sqs.sendMessage(m -> m.queueUrl(queue).messageBody(body).messageGroupId(body.substring(0, 1)));
        }
        var got = collect(queue, 1, r -> r.maxNumberOfMessages(1));
        var head = got.get(0).body();
        var others = receive(queue);
        equal(bodies(others).stream().filter(b -> b.charAt(0) == head.charAt(0)).toList(), List.of(),
            "of a group whose head is in flight");
        got.addAll(others);
        var order = new ArrayList<String>();
        for (List<Message> some = got; !some.isEmpty(); some = receive(queue, r -> r.waitTimeSeconds(1))) {
            order.addAll(bodies(some));
            delete(queue, some);
        }
        equal(order.stream().filter(b -> b.startsWith("a")).toList(), List.of("a1", "a2", "a3"), "group a");
        equal(order.stream().filter(b -> b.startsWith("b")).toList(), List.of("b1", "b2"), "group b");
    }

    private record Dead(String source, String letters, String arn) {}

    // A queue, its dead-letter queue and that one's ARN; a message has gone from one to the other.
    private static Dead killTwice(String name) {
        var letters = create(name + "-dlq", Map.of());
        var arn = attribute(letters, QueueAttributeName.QUEUE_ARN);
        var policy = "{\"deadLetterTargetArn\": \"" + arn + "\", \"maxReceiveCount\": 2}";
        var source = create(name, Map.of(QueueAttributeName.REDRIVE_POLICY, policy));
        put(source, "poison");
        for (int count = 0; count < 2; ++count) show(source, one(source));
        equal(bodies(receive(source)), List.of(), "after its last receive");
        return new Dead(source, letters, arn);
    }

    static void dead_letters() {
        var at = killTwice("letters");
        var dead = one(at.letters);
        equal(dead.body(), "poison", "dead letter");
        equal(dead.attributes().get(MessageSystemAttributeName.DEAD_LETTER_QUEUE_SOURCE_ARN),
            attribute(at.source, QueueAttributeName.QUEUE_ARN), "DeadLetterQueueSourceArn");
        equal(sqs.listDeadLetterSourceQueues(q -> q.queueUrl(at.letters)).queueUrls(), List.of(at.source), "source queues");
    }

    static void move_task() throws InterruptedException {
        var at = killTwice("move");
        sqs.startMessageMoveTask(t -> t.sourceArn(at.arn));
        ListMessageMoveTasksResultEntry task = null;
        for (int left = 40; left > 0; --left) {
            task = sqs.listMessageMoveTasks(t -> t.sourceArn(at.arn)).results().get(0);
            if (!task.status().equals("RUNNING")) break;
            Thread.sleep(100);
        }
        equal(task.status() + " " + task.approximateNumberOfMessagesMoved(), "COMPLETED 1", "task");
        equal(one(at.source).body(), "poison", "moved back");
    }

    static void long_poll() {
        var queue = create("poll", Map.of());
        var began = System.nanoTime();
        var late = CompletableFuture.runAsync(
            () -> put(queue, "wake"), CompletableFuture.delayedExecutor(700, TimeUnit.MILLISECONDS));
        var got = receive(queue, r -> r.waitTimeSeconds(8));
        late.join();
        equal(bodies(got), List.of("wake"), "messages");
        equal(System.nanoTime() - began < 6_000_000_000L, true, "woken by the message, rather than after the wait");
    }

    static void tags() {
        var queue = create("tags", Map.of());
        sqs.tagQueue(q -> q.queueUrl(queue).tags(Map.of("team", "mill", "tier", "1")));
        equal(sqs.listQueueTags(q -> q.queueUrl(queue)).tags(), Map.of("team", "mill", "tier", "1"), "tags");
        sqs.untagQueue(q -> q.queueUrl(queue).tagKeys("tier"));
        equal(sqs.listQueueTags(q -> q.queueUrl(queue)).tags(), Map.of("team", "mill"), "tags");
    }

    static void paging() {
        var urls = IntStream.range(0, 3).mapToObj(n -> create("page-" + n, Map.of())).toList();
        var pages = sqs.listQueuesPaginator(q -> q.queueNamePrefix(PREFIX + "-page-").maxResults(2))
            .stream().map(page -> page.queueUrls()).toList();
        equal(pages.stream().map(List::size).toList(), List.of(2, 1), "pages");
        equal(sorted(pages.stream().flatMap(List::stream).toList()), urls, "queues");
    }

    private static void fails(Class<?> wanted, Runnable call) {
        try {
            call.run();
        } catch (AwsServiceException error) {
            equal(error.getClass(), wanted, "error");
            return;
        }
        throw new AssertionError("it was accepted; " + wanted.getSimpleName() + " was due");
    }

    private static void sendBatch(String queue, String... ids) {
        sqs.sendMessageBatch(b -> b.queueUrl(queue).entries(Stream.of(ids)
            .map(id -> SendMessageBatchRequestEntry.builder().id(id).messageBody("m").build()).toList()));
    }

    static void errors() {
        var queue = create("errors", Map.of());
        fails(EmptyBatchRequestException.class, () -> sendBatch(queue));
        fails(BatchEntryIdsNotDistinctException.class, () -> sendBatch(queue, "a", "a"));
        fails(TooManyEntriesInBatchRequestException.class, () -> sendBatch(queue, "abcdefghijk".split("")));
        fails(ReceiptHandleIsInvalidException.class,
            () -> sqs.deleteMessage(d -> d.queueUrl(queue).receiptHandle("no-such-handle")));
    }

    private static void refused(String key, String code) {
        try {
            connect(key, "wrong").listQueues();
        } catch (AwsServiceException error) {
            equal(error.awsErrorDetails().errorCode(), code, "error code");
            return;
        }
        throw new AssertionError("it was accepted; " + code + " was due");
    }

    static void signature() {
        refused(KEY, "SignatureDoesNotMatch");
        refused("AKIAUNKNOWN", "InvalidClientTokenId");
    }

    private interface Check {
        void run() throws Exception;
    }

    private static String quoted(String text) {
        var out = new StringBuilder("\"");
        text.chars().limit(500).forEach(c -> out.append(
            c == '"' || c == '\\' ? "\\" + (char) c : c < ' ' ? " " : String.valueOf((char) c)));
        return out.append('"').toString();
    }

    private static void report(String name, Check check, List<String> wanted) {
        if (!wanted.isEmpty() && !wanted.contains(name)) return;
        var why = "";
        try {
            check.run();
        } catch (Exception | AssertionError error) { // whatever it is, the next check has its turn
            why = String.valueOf(error);
        }
        System.out.println("{\"check\": \"" + name + "\", \"ok\": " + why.isEmpty() + ", \"why\": " + quoted(why) + "}");
    }

    public static void main(String[] arguments) {
        var wanted = List.of(arguments);
        report("send", Checks::send, wanted);
        report("batch", Checks::batch, wanted);
        report("visibility", Checks::visibility, wanted);
        report("queue", Checks::queue, wanted);
        report("attributes", Checks::attributes, wanted);
        report("fifo", Checks::fifo, wanted);
        report("dead_letters", Checks::dead_letters, wanted);
        report("move_task", Checks::move_task, wanted);
        report("long_poll", Checks::long_poll, wanted);
        report("tags", Checks::tags, wanted);
        report("paging", Checks::paging, wanted);
        report("errors", Checks::errors, wanted);
        report("signature", Checks::signature, wanted);
        System.exit(0); // the SDK's threads would keep it for a minute
    }
}
