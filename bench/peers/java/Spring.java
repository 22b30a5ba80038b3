import io.awspring.cloud.sqs.MessageExecutionThreadFactory;
import io.awspring.cloud.sqs.listener.AsyncMessageListener;
import io.awspring.cloud.sqs.listener.SqsHeaders;
import io.awspring.cloud.sqs.listener.SqsMessageListenerContainer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.springframework.scheduling.concurrent.ThreadPoolTaskExecutor;
import software.amazon.awssdk.services.sqs.model.MessageSystemAttributeName;

/**
 * spring-cloud-aws: a listener container, with the asynchronous listener that its documentation encourages for throughput, and
 * its own batching of acknowledgements. How it is tuned: README.md.
 */
final class Spring {
    private static ThreadPoolTaskExecutor executor() {
        var executor = new ThreadPoolTaskExecutor();
        executor.setCorePoolSize(1 + Harness.THREADS); // one of them is the poller
        executor.setThreadFactory(new MessageExecutionThreadFactory("listener-"));
        executor.setDaemon(true);
        executor.initialize();
        return executor;
    }

    /** Only what is used: the receive count, and the group where the container itself needs it. */
    private static List<MessageSystemAttributeName> attributes() {
        var count = MessageSystemAttributeName.APPROXIMATE_RECEIVE_COUNT;
        return Harness.QUEUE.endsWith(".fifo") ? List.of(count, MessageSystemAttributeName.MESSAGE_GROUP_ID) : List.of(count);
    }

    public static void main(String[] arguments) throws Exception {
        AsyncMessageListener<String> listener = message -> Harness.handle(message.getPayload(),
            (String) message.getHeaders().get(SqsHeaders.MessageSystemAttributes.SQS_APPROXIMATE_RECEIVE_COUNT));
        var container = SqsMessageListenerContainer.<String>builder()
            .sqsAsyncClient(Harness.client(50 + 2 * Harness.LOOPS)) // polls and acknowledgements
            .queueNames(Harness.QUEUE)
            .asyncMessageListener(listener)
            .configure(options -> options
                .maxConcurrentMessages(Harness.IN_FLIGHT)
                .maxMessagesPerPoll(Harness.BATCH)
                .messageSystemAttributeNames(attributes())
                .componentsTaskExecutor(executor())
                .listenerShutdownTimeout(Duration.ofSeconds(10))
                .acknowledgementShutdownTimeout(Duration.ofSeconds(5)))
            .build();
        var version = SqsMessageListenerContainer.class.getPackage().getImplementationVersion();
        Harness.run("spring-cloud-aws-sqs " + version, container::start, container::stop);
        new CountDownLatch(1).await(); // the executor's threads do not keep the JVM alive
    }
}
