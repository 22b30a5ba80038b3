// A plain loop of the AWS SDK for Go v2: as many goroutines as there may be batches in hand, each of them receives, handles
// the ten at once, and deletes those that succeeded in one request. How it is tuned: README.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func setting(name string, otherwise int) int {
	if given, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return given
	}
	return otherwise
}

var (
	queue     = aws.String(os.Getenv("BENCH_QUEUE_URL"))
	inFlight  = setting("BENCH_IN_FLIGHT", 1)
	wait      = time.Duration(setting("BENCH_HANDLER_MS", 0)) * time.Millisecond
	failOneIn = setting("BENCH_FAIL_ONE_IN", 0)

	handled, failed atomic.Int64
)

// What one loop counts, so that no lock is needed.
type latencies map[int64]int64

func (l latencies) count(microseconds int64) {
	unit := int64(1)
	for microseconds >= 100*unit {
		unit *= 10
	}
	l[max(0, microseconds/unit*unit)]++
}

// The handler. A body is "<microseconds when it was due> <number> <padding>".
func handle(message types.Message, number int) error {
	if wait > 0 {
		time.Sleep(wait)
	}
	if failOneIn > 0 && number%failOneIn == 0 && message.Attributes["ApproximateReceiveCount"] == "1" {
		failed.Add(1)
		return errors.New("told to fail")
	}
	handled.Add(1)
	return nil
}

// Handles a batch, and says what is to be deleted.
func process(messages []types.Message, latency latencies) []types.DeleteMessageBatchRequestEntry {
	outcomes := make([]error, len(messages))
	var running sync.WaitGroup
	for n, message := range messages {
		words := strings.SplitN(*message.Body, " ", 3)
		due, _ := strconv.ParseInt(words[0], 10, 64)
		number, _ := strconv.Atoi(words[1])
		latency.count(time.Now().UnixMicro() - due)
		running.Go(func() { outcomes[n] = handle(message, number) })
	}
	running.Wait()
	entries := make([]types.DeleteMessageBatchRequestEntry, 0, len(messages))
	for n, message := range messages {
		if outcomes[n] == nil {
			entries = append(entries, types.DeleteMessageBatchRequestEntry{
				Id: aws.String(strconv.Itoa(n)), ReceiptHandle: message.ReceiptHandle,
			})
		}
	}
	return entries
}

func step(receiving context.Context, client *sqs.Client, latency latencies) error {
	got, err := client.ReceiveMessage(receiving, &sqs.ReceiveMessageInput{
		QueueUrl: queue, MaxNumberOfMessages: int32(min(10, inFlight)), WaitTimeSeconds: 20,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameApproximateReceiveCount},
	})
	if err != nil {
		return err
	}
	entries := process(got.Messages, latency)
	if len(entries) == 0 {
		return nil
	}
	// Not cancelled: what has been handled is deleted, also when the program is to end.
	done, err := client.DeleteMessageBatch(context.Background(), &sqs.DeleteMessageBatchInput{QueueUrl: queue, Entries: entries})
	if err == nil && len(done.Failed) > 0 {
		err = fmt.Errorf("%d were not deleted: %s", len(done.Failed), *done.Failed[0].Code)
	}
	return err
}

func connect(loops int) *sqs.Client {
	// A loop has one request under way at a time; ten idle connections to a host, the default, would close the others.
	transport := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConns, t.MaxIdleConnsPerHost, t.MaxConnsPerHost = loops, loops, loops
	})
	// AWS_CA_BUNDLE is put into the client by LoadDefaultConfig.
	settings, err := config.LoadDefaultConfig(context.Background(), config.WithHTTPClient(transport))
	if err != nil {
		log.Fatal(err)
	}
	return sqs.NewFromConfig(settings)
}

func version() string {
	build, _ := debug.ReadBuildInfo()
	for _, module := range build.Deps {
		if strings.HasSuffix(module.Path, "/service/sqs") {
			return fmt.Sprintf("aws-sdk-go-v2/service/sqs %s, %s", module.Version, runtime.Version())
		}
	}
	return "aws-sdk-go-v2"
}

func main() {
	runtime.GOMAXPROCS(setting("BENCH_THREADS", 1))
	if os.Getenv("GOGC") == "" && inFlight <= 5000 {
		debug.SetGCPercent(400) // a heap of a few MiB would be collected many times a second
	}
	receiving, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()

	loops := (inFlight + 9) / 10
	client := connect(loops)
	counts := make([]latencies, loops)
	var running sync.WaitGroup
	for n := range loops {
		counts[n] = latencies{}
		running.Go(func() {
			for receiving.Err() == nil {
				if err := step(receiving, client, counts[n]); err != nil && receiving.Err() == nil {
					log.Print(err)
					time.Sleep(time.Second)
				}
			}
		})
	}
	fmt.Println("ready")
	running.Wait()

	latency := latencies{}
	for _, counted := range counts {
		for bucket, count := range counted {
			latency[bucket] += count
		}
	}
	report, _ := json.Marshal(map[string]any{
		"handled": handled.Load(), "failed": failed.Load(), "latency_us": latency, "version": version(),
	})
	if err := os.WriteFile(os.Getenv("BENCH_RESULT"), report, 0o644); err != nil {
		log.Fatal(err)
	}
}
