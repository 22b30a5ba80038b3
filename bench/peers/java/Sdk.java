import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import software.amazon.awssdk.core.util.VersionInfo;
import software.amazon.awssdk.services.sqs.SqsAsyncClient;
import software.amazon.awssdk.services.sqs.model.DeleteMessageBatchRequestEntry;
import software.amazon.awssdk.services.sqs.model.Message;
import software.amazon.awssdk.services.sqs.model.MessageSystemAttributeName;

/**
 * A plain loop of the AWS SDK for Java 2: as many chains of futures as there may be batches in hand, each of them receives,
 * handles the ten at once, and deletes those that succeeded in one request. How it is tuned: README.md.
 */
final class Sdk {
    private final SqsAsyncClient sqs;
    private volatile boolean stopped;

    private Sdk(SqsAsyncClient sqs) {
        this.sqs = sqs;
    }

    private CompletableFuture<?> step() {
        return sqs.receiveMessage(r -> r.queueUrl(Harness.QUEUE).maxNumberOfMessages(Harness.BATCH).waitTimeSeconds(20)
                .messageSystemAttributeNames(MessageSystemAttributeName.APPROXIMATE_RECEIVE_COUNT))
            .thenCompose(got -> process(got.messages()));
    }

    private CompletableFuture<?> process(List<Message> messages) {
        var handlers = new ArrayList<CompletableFuture<Void>>(messages.size());
        for (var message : messages) {
            var count = message.attributes().get(MessageSystemAttributeName.APPROXIMATE_RECEIVE_COUNT);
            handlers.add(Harness.handle(message.body(), count));
        }
        return CompletableFuture.allOf(handlers.toArray(CompletableFuture[]::new))
            .handle((all, someFailed) -> entries(messages, handlers))
            .thenCompose(this::delete);
    }

    private static List<DeleteMessageBatchRequestEntry> entries(List<Message> messages, List<CompletableFuture<Void>> handlers) {
        var entries = new ArrayList<DeleteMessageBatchRequestEntry>(messages.size());
        for (int n = 0; n < messages.size(); ++n) {
            if (handlers.get(n).isCompletedExceptionally()) continue;
            entries.add(DeleteMessageBatchRequestEntry.builder()
                .id(Integer.toString(n)).receiptHandle(messages.get(n).receiptHandle()).build());
        }
        return entries;
    }

    private CompletableFuture<?> delete(List<DeleteMessageBatchRequestEntry> entries) {
        if (entries.isEmpty()) return CompletableFuture.completedFuture(null);
        return sqs.deleteMessageBatch(d -> d.queueUrl(Harness.QUEUE).entries(entries)).thenAccept(done -> {
            if (!done.failed().isEmpty()) {
                System.err.println(done.failed().size() + " were not deleted: " + done.failed().get(0).code());
            }
        });
    }

    private void loop() {
        step().whenComplete((done, error) -> {
            if (stopped) return;
            if (error == null) {
                loop();
            } else {
                System.err.println(error);
                CompletableFuture.delayedExecutor(1, TimeUnit.SECONDS).execute(this::loop);
            }
        });
    }

    private void start() {
        for (int n = 0; n < Harness.LOOPS; ++n) loop();
    }

    private void stop() {
        stopped = true;
    }

    public static void main(String[] arguments) throws Exception {
        var sdk = new Sdk(Harness.client(Harness.LOOPS));
        Harness.run("AWS SDK for Java " + VersionInfo.SDK_VERSION, sdk::start, sdk::stop);
        new CountDownLatch(1).await(); // the SDK's threads do not keep the JVM alive
    }
}
