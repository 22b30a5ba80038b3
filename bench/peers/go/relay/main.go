// The relay that one would write with the AWS SDK for Go v2 and net/http: five loops, each of them receives ten, posts them at
// once to BENCH_HOOK, and deletes those that were answered with 200 when the last one is done. Carrier works the same way.
package main

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

const (
	loops      = 5
	atOnce     = 10
	perRequest = 60 * time.Second
)

var (
	queue = aws.String(os.Getenv("BENCH_QUEUE_URL"))
	hook  = os.Getenv("BENCH_HOOK")
)

func post(client *http.Client, message types.Message) error {
	request, err := http.NewRequest(http.MethodPost, hook, strings.NewReader(*message.Body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", *message.MessageId)
	request.Header.Set("X-Receive-Count", message.Attributes["ApproximateReceiveCount"])
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil { // or the connection is not used again
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return errors.New(answer.Status)
	}
	return nil
}

func postAll(client *http.Client, messages []types.Message) []types.DeleteMessageBatchRequestEntry {
	outcomes := make([]error, len(messages))
	var running sync.WaitGroup
	for n, message := range messages {
		running.Go(func() { outcomes[n] = post(client, message) })
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

func step(receiving context.Context, queues *sqs.Client, hooks *http.Client) error {
	got, err := queues.ReceiveMessage(receiving, &sqs.ReceiveMessageInput{
		QueueUrl: queue, MaxNumberOfMessages: atOnce, WaitTimeSeconds: 20,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameApproximateReceiveCount},
	})
	if err != nil {
		return err
	}
	entries := postAll(hooks, got.Messages)
	if len(entries) == 0 {
		return nil
	}
	_, err = queues.DeleteMessageBatch(context.Background(), &sqs.DeleteMessageBatchInput{QueueUrl: queue, Entries: entries})
	return err
}

func main() {
	if threads, err := strconv.Atoi(os.Getenv("BENCH_THREADS")); err == nil {
		runtime.GOMAXPROCS(threads)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // a heap of a few MiB would be collected many times a second
	}
	receiving, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	settings, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	queues := sqs.NewFromConfig(settings)
	hooks := &http.Client{Timeout: perRequest, Transport: &http.Transport{MaxIdleConnsPerHost: loops * atOnce}}
	var running sync.WaitGroup
	for range loops {
		running.Go(func() {
			for receiving.Err() == nil {
				if err := step(receiving, queues, hooks); err != nil && receiving.Err() == nil {
					log.Print(err)
					time.Sleep(100 * time.Millisecond)
				}
			}
		})
	}
	running.Wait()
}
