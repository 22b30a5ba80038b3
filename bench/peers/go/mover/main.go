// The mover that one would write with the AWS SDK for Go v2: goroutines that each receive ten messages, send them in one
// request, and delete those that were sent. It keeps attributes, trace header and group, and knows nothing else.
//
// usage: go-mover FROM TO      URLs of queues; ends when they all find the queue empty
package main

import (
	"context"
	"log"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

const loops = 10

func entry(number int, m types.Message) types.SendMessageBatchRequestEntry {
	out := types.SendMessageBatchRequestEntry{
		Id: aws.String(strconv.Itoa(number)), MessageBody: m.Body, MessageAttributes: m.MessageAttributes,
	}
	if trace, there := m.Attributes["AWSTraceHeader"]; there {
		out.MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{
			"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String(trace)},
		}
	}
	if group, there := m.Attributes["MessageGroupId"]; there {
		out.MessageGroupId = aws.String(group)
	}
	return out
}

// Moves up to ten; says how many there were.
func step(client *sqs.Client, from, to *string) (int, error) {
	all := context.Background()
	got, err := client.ReceiveMessage(all, &sqs.ReceiveMessageInput{
		QueueUrl: from, MaxNumberOfMessages: 10, WaitTimeSeconds: 1, MessageAttributeNames: []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	if err != nil || len(got.Messages) == 0 {
		return 0, err
	}
	entries := make([]types.SendMessageBatchRequestEntry, 0, len(got.Messages))
	for n, m := range got.Messages {
		entries = append(entries, entry(n, m))
	}
	sent, err := client.SendMessageBatch(all, &sqs.SendMessageBatchInput{QueueUrl: to, Entries: entries})
	if err != nil {
		return 0, err
	}
	gone := make([]types.DeleteMessageBatchRequestEntry, 0, len(sent.Successful))
	for _, one := range sent.Successful {
		n, _ := strconv.Atoi(*one.Id)
		gone = append(gone, types.DeleteMessageBatchRequestEntry{Id: one.Id, ReceiptHandle: got.Messages[n].ReceiptHandle})
	}
	if len(gone) > 0 {
		_, err = client.DeleteMessageBatch(all, &sqs.DeleteMessageBatchInput{QueueUrl: from, Entries: gone})
	}
	return len(got.Messages), err
}

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // as the loop beside it
	}
	from, to := aws.String(os.Args[1]), aws.String(os.Args[2])
	transport := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConns, t.MaxIdleConnsPerHost, t.MaxConnsPerHost = loops, loops, loops
	})
	settings, err := config.LoadDefaultConfig(context.Background(), config.WithHTTPClient(transport))
	if err != nil {
		log.Fatal(err)
	}
	client := sqs.NewFromConfig(settings)
	var running sync.WaitGroup
	for range loops {
		running.Go(func() {
			for {
				moved, err := step(client, from, to)
				if err != nil {
					log.Fatal(err)
				}
				if moved == 0 {
					return
				}
			}
		})
	}
	running.Wait()
}
