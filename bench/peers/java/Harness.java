import java.io.FileInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import software.amazon.awssdk.core.client.config.SdkAdvancedAsyncClientOption;
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient;
import software.amazon.awssdk.http.nio.netty.SdkEventLoopGroup;
import software.amazon.awssdk.services.sqs.SqsAsyncClient;

/** What the Java contenders share: the settings of the run, the client, the handler, and the report at the end. */
final class Harness {
    static final String QUEUE = System.getenv("BENCH_QUEUE_URL");
    static final int IN_FLIGHT = setting("BENCH_IN_FLIGHT", 1);
    static final int BATCH = Math.min(10, IN_FLIGHT); // of a receive; ten is the most that SQS gives
    static final int LOOPS = (IN_FLIGHT + 9) / 10;
    static final int THREADS = setting("BENCH_THREADS", 1);
    private static final int WAIT = setting("BENCH_HANDLER_MS", 0);
    private static final int FAIL_ONE_IN = setting("BENCH_FAIL_ONE_IN", 0);

    private static final LongAdder started = new LongAdder();
    private static final LongAdder handled = new LongAdder();
    private static final LongAdder failed = new LongAdder();
    private static final Map<Long, LongAdder> latency = new ConcurrentHashMap<>();
    private static final ScheduledExecutorService timer = Executors.newScheduledThreadPool(THREADS, task -> {
        var thread = new Thread(task, "handlers");
        thread.setDaemon(true);
        return thread;
    });

    private Harness() {}

    private static int setting(String name, int otherwise) {
        var given = System.getenv(name);
        return given == null ? otherwise : Integer.parseInt(given);
    }

    /**
     * The SDK's default asynchronous client: as many connections as there are requests at a time, as many event loops as
     * there may be threads, and futures completed where the answer arrived, since nothing here blocks. See README.md.
     */
    static SqsAsyncClient client(int requests) throws GeneralSecurityException, IOException {
        var http = NettyNioAsyncHttpClient.builder()
            .maxConcurrency(requests)
            .eventLoopGroupBuilder(SdkEventLoopGroup.builder().numberOfThreads(THREADS));
        var bundle = System.getenv("AWS_CA_BUNDLE");
        if (bundle != null && !bundle.isEmpty()) {
            var trusted = trust(bundle);
            http.tlsTrustManagersProvider(() -> trusted);
        }
        return SqsAsyncClient.builder()
            .httpClientBuilder(http)
            .asyncConfiguration(c -> c.advancedOption(SdkAdvancedAsyncClientOption.FUTURE_COMPLETION_EXECUTOR, Runnable::run))
            .build();
    }

    private static TrustManager[] trust(String bundle) throws GeneralSecurityException, IOException {
        var store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        try (var file = new FileInputStream(bundle)) {
            for (var authority : CertificateFactory.getInstance("X.509").generateCertificates(file)) {
                store.setCertificateEntry("authority " + store.size(), authority);
            }
        }
        var factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(store);
        return factory.getTrustManagers();
    }

    /** The handler. A body is "&lt;microseconds when it was due&gt; &lt;number&gt; &lt;padding&gt;". */
    static CompletableFuture<Void> handle(String body, String receiveCount) {
        var now = Instant.now();
        var due = Long.parseLong(body, 0, 16, 10);
        count(now.getEpochSecond() * 1_000_000 + now.getNano() / 1000 - due);
        started.increment();
        var number = Long.parseLong(body, 17, body.indexOf(' ', 17), 10);
        var fails = FAIL_ONE_IN > 0 && number % FAIL_ONE_IN == 0 && receiveCount.equals("1");
        var done = new CompletableFuture<Void>();
        if (WAIT > 0) {
            timer.schedule(() -> end(done, fails), WAIT, TimeUnit.MILLISECONDS);
        } else {
            end(done, fails);
        }
        return done;
    }

    private static void end(CompletableFuture<Void> done, boolean fails) {
        if (fails) {
            failed.increment();
            done.completeExceptionally(new IllegalStateException("told to fail"));
        } else {
            handled.increment();
            done.complete(null);
        }
    }

    private static void count(long microseconds) {
        long unit = 1;
        while (microseconds >= 100 * unit) unit *= 10;
        latency.computeIfAbsent(Math.max(0, microseconds / unit * unit), bucket -> new LongAdder()).increment();
    }

    /**
     * At SIGTERM stops, and waits until half a second has passed without a handler, so that the last deletes are through, ten
     * seconds at most.
     */
    static void run(String version, Runnable start, Runnable stop) {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                halt(stop);
                var deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
                long before;
                do {
                    before = started.sum();
                    Thread.sleep(500);
                } while ((started.sum() != before || handled.sum() + failed.sum() != before) && System.nanoTime() < deadline);
                report(version);
                Runtime.getRuntime().halt(0); // the JVM's own status after SIGTERM is 143
            } catch (InterruptedException | IOException error) {
                error.printStackTrace();
            }
        }));
        start.run();
        System.out.println("ready");
    }

    private static void halt(Runnable stop) {
        try {
            stop.run();
        } catch (RuntimeException error) {
            System.err.println(error); // what was counted is reported all the same
        }
    }

    private static void report(String version) throws IOException {
        var buckets = latency.entrySet().stream().map(e -> "\"" + e.getKey() + "\": " + e.getValue())
            .collect(Collectors.joining(", "));
        Files.writeString(Path.of(System.getenv("BENCH_RESULT")),
            "{\"handled\": %d, \"failed\": %d, \"latency_us\": {%s}, \"version\": \"%s, Java %s\"}\n"
                .formatted(handled.sum(), failed.sum(), buckets, version, System.getProperty("java.version")));
    }
}
