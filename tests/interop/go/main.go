// The AWS SDK for Go v2 against any SQS: the checks of docs/interop.md, one JSON line each.
//
// usage: checks [CHECK...]
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
)

var (
	ctx    = context.Background()
	prefix = "go"
	client *sqs.Client
)

func connect(key, secret string) *sqs.Client {
	return sqs.New(sqs.Options{
		Region:           os.Getenv("AWS_REGION"),
		BaseEndpoint:     aws.String(os.Getenv("AWS_ENDPOINT_URL_SQS")),
		Credentials:      credentials.NewStaticCredentialsProvider(key, secret, ""),
		RetryMaxAttempts: 2,
	})
}

// What a check says when it fails; must and equal throw it, main catches it.
type failure string

func must[T any](value T, err error) T {
	if err != nil {
		panic(failure(err.Error()))
	}
	return value
}

func equal(found, wanted any, what string) {
	if !reflect.DeepEqual(found, wanted) {
		panic(failure(fmt.Sprintf("%s: %v instead of %v", what, found, wanted)))
	}
}

func refused(code string, err error) {
	var why smithy.APIError
	if !errors.As(err, &why) {
		panic(failure(fmt.Sprintf("%v; %s was due", err, code)))
	}
	equal(why.ErrorCode(), code, "error code")
}

type settings = map[string]string

func create(name string, attributes settings) *string {
	return must(client.CreateQueue(ctx, &sqs.CreateQueueInput{
		QueueName: aws.String(prefix + "-" + name), Attributes: attributes})).QueueUrl
}

func attribute(queue *string, name string) string {
	return must(client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: queue, AttributeNames: []types.QueueAttributeName{"All"}})).Attributes[name]
}

func put(queue *string, body string) {
	must(client.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: queue, MessageBody: &body}))
}

func receive(queue *string, with func(*sqs.ReceiveMessageInput)) []types.Message {
	in := &sqs.ReceiveMessageInput{QueueUrl: queue, MaxNumberOfMessages: 10, VisibilityTimeout: 30,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"}}
	if with != nil {
		with(in)
	}
	return must(client.ReceiveMessage(ctx, in)).Messages
}

func patient(in *sqs.ReceiveMessageInput) { in.WaitTimeSeconds = 1 }

// Receives until there are count, or five receives more are not enough.
func collect(queue *string, count int, with func(*sqs.ReceiveMessageInput)) []types.Message {
	var got []types.Message
	for left := count + 5; left > 0 && len(got) < count; left-- {
		got = append(got, receive(queue, func(in *sqs.ReceiveMessageInput) {
			patient(in)
			if with != nil {
				with(in)
			}
		})...)
	}
	equal(len(got), count, "messages")
	return got
}

func remove(queue *string, messages []types.Message) {
	for _, m := range messages {
		must(client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: queue, ReceiptHandle: m.ReceiptHandle}))
	}
}

func show(queue *string, m types.Message) {
	must(client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: queue, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: 0}))
}

func bodies(messages []types.Message) []string {
	list := []string{}
	for _, m := range messages {
		list = append(list, *m.Body)
	}
	return list
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

func checkSend() {
	queue := create("send", nil)
	texts := []string{"plain", "quotes \" \\ \t\n <&> Grüße 你好 😀", strings.Repeat("x", 200_000)}
	for _, text := range texts {
		put(queue, text)
	}
	got := collect(queue, 3, nil)
	equal(sorted(bodies(got)), sorted(texts), "bodies")
	remove(queue, got)
	equal(bodies(receive(queue, nil)), []string{}, "after the deletes")
}

func checkBatch() {
	queue := create("batch", nil)
	entries := []types.SendMessageBatchRequestEntry{}
	for _, id := range []string{"s0", "s1", "s2"} {
		entries = append(entries, types.SendMessageBatchRequestEntry{Id: aws.String(id), MessageBody: aws.String(id)})
	}
	sent := must(client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: queue, Entries: entries}))
	equal(len(sent.Successful), 3, "sent")
	doomed := []types.DeleteMessageBatchRequestEntry{{Id: aws.String("bad"), ReceiptHandle: aws.String("no-such-handle")}}
	for n, m := range collect(queue, 3, nil) {
		doomed = append(doomed, types.DeleteMessageBatchRequestEntry{
			Id: aws.String(fmt.Sprint("d", n)), ReceiptHandle: m.ReceiptHandle})
	}
	done := must(client.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: queue, Entries: doomed}))
	ids := []string{}
	for _, entry := range done.Successful {
		ids = append(ids, *entry.Id)
	}
	equal(sorted(ids), []string{"d0", "d1", "d2"}, "deleted")
	equal(len(done.Failed), 1, "failed")
	equal([]any{*done.Failed[0].Id, *done.Failed[0].Code, done.Failed[0].SenderFault},
		[]any{"bad", "ReceiptHandleIsInvalid", true}, "failed")
	equal(attribute(queue, "ApproximateNumberOfMessages"), "0", "left")
	equal(attribute(queue, "ApproximateNumberOfMessagesNotVisible"), "0", "left in flight")
}

func checkVisibility() {
	queue := create("visibility", nil)
	put(queue, "m")
	first := collect(queue, 1, nil)[0]
	equal(bodies(receive(queue, nil)), []string{}, "while it is hidden")
	show(queue, first)
	second := collect(queue, 1, nil)[0]
	equal(second.Attributes["ApproximateReceiveCount"], "2", "receive count")
	changed := must(client.ChangeMessageVisibilityBatch(ctx, &sqs.ChangeMessageVisibilityBatchInput{
		QueueUrl: queue, Entries: []types.ChangeMessageVisibilityBatchRequestEntry{
			{Id: aws.String("c"), ReceiptHandle: second.ReceiptHandle, VisibilityTimeout: 1},
			{Id: aws.String("bad"), ReceiptHandle: aws.String("no-such-handle"), VisibilityTimeout: 1}}}))
	equal(len(changed.Successful), 1, "changed")
	equal(collect(queue, 1, nil)[0].Attributes["ApproximateReceiveCount"], "3", "receive count")
	equal(len(changed.Failed), 1, "failed")
	equal(*changed.Failed[0].Code, "ReceiptHandleIsInvalid", "failed")
}

func checkQueue() {
	queue := create("queue", settings{"VisibilityTimeout": "45"})
	named := &sqs.GetQueueUrlInput{QueueName: aws.String(prefix + "-queue")}
	equal(*must(client.GetQueueUrl(ctx, named)).QueueUrl, *queue, "URL")
	equal(attribute(queue, "VisibilityTimeout"), "45", "VisibilityTimeout")
	equal(strings.HasSuffix(attribute(queue, "QueueArn"), ":"+*named.QueueName), true, "ARN")
	must(client.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{
		QueueUrl: queue, Attributes: settings{"VisibilityTimeout": "50"}}))
	equal(attribute(queue, "VisibilityTimeout"), "50", "VisibilityTimeout")
	put(queue, "a")
	put(queue, "b")
	equal(attribute(queue, "ApproximateNumberOfMessages"), "2", "count")
	must(client.PurgeQueue(ctx, &sqs.PurgeQueueInput{QueueUrl: queue}))
	equal(bodies(receive(queue, nil)), []string{}, "after the purge")
	must(client.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: queue}))
	_, err := client.GetQueueUrl(ctx, named)
	var missing *types.QueueDoesNotExist
	equal(errors.As(err, &missing), true, "typed error")
}

func checkAttributes() {
	queue := create("attributes", nil)
	bytes := make([]byte, 256)
	for n := range bytes {
		bytes[n] = byte(n)
	}
	trace := "Root=1-5759e988-bd862e3fe1be46a994272793"
	must(client.SendMessage(ctx, &sqs.SendMessageInput{
		QueueUrl: queue, MessageBody: aws.String("m"),
		MessageAttributes: map[string]types.MessageAttributeValue{
			"text":        {DataType: aws.String("String"), StringValue: aws.String("Grüße")},
			"kind.number": {DataType: aws.String("Number.int"), StringValue: aws.String("17")},
			"bytes":       {DataType: aws.String("Binary"), BinaryValue: bytes}},
		MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{
			"AWSTraceHeader": {DataType: aws.String("String"), StringValue: &trace}}}))
	ask := func(names ...string) types.Message {
		return collect(queue, 1, func(in *sqs.ReceiveMessageInput) { in.MessageAttributeNames = names })[0]
	}
	all := ask("All")
	equal(len(all.MessageAttributes), 3, "attributes")
	equal(*all.MessageAttributes["text"].StringValue, "Grüße", "text")
	equal(*all.MessageAttributes["kind.number"].StringValue, "17", "number")
	equal(*all.MessageAttributes["kind.number"].DataType, "Number.int", "type")
	equal(all.MessageAttributes["bytes"].BinaryValue, bytes, "bytes")
	equal(all.Attributes["AWSTraceHeader"], trace, "AWSTraceHeader")
	show(queue, all)
	none := ask()
	equal(len(none.MessageAttributes), 0, "attributes that nobody asked for")
	show(queue, none)
	equal(len(ask("kind.*", "text").MessageAttributes), 2, "attributes by name")
}

func checkFifo() {
	queue := create("fifo.fifo", settings{"FifoQueue": "true", "ContentBasedDeduplication": "true"})
	for _, body := range []string{"a1", "b1", "a2", "a3", "b2", "a1"} { // the second a1 is a duplicate
		must(client.SendMessage(ctx, &sqs.SendMessageInput{
			QueueUrl: queue, MessageBody: &body, MessageGroupId: aws.String(body[:1])}))
	}
	head := collect(queue, 1, func(in *sqs.ReceiveMessageInput) { in.MaxNumberOfMessages = 1 })
	got := append(head, receive(queue, nil)...)
	for _, m := range got[1:] {
		equal((*m.Body)[0] == (*head[0].Body)[0], false, "a group whose head is in flight must wait: "+*m.Body)
	}
	order := map[byte][]string{}
	for len(got) > 0 {
		for _, body := range bodies(got) {
			order[body[0]] = append(order[body[0]], body)
		}
		remove(queue, got)
		got = receive(queue, patient)
	}
	equal(order['a'], []string{"a1", "a2", "a3"}, "group a")
	equal(order['b'], []string{"b1", "b2"}, "group b")
}

// A queue, its dead-letter queue, and a message that has gone from one to the other.
func killTwice(name string) (source, letters *string, arn string) {
	letters = create(name+"-dlq", nil)
	arn = attribute(letters, "QueueArn")
	source = create(name, settings{"RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":"%s","maxReceiveCount":2}`, arn)})
	put(source, "poison")
	for range 2 {
		show(source, collect(source, 1, nil)[0])
	}
	equal(bodies(receive(source, nil)), []string{}, "after its last receive")
	return
}

func checkDeadLetters() {
	source, letters, _ := killTwice("letters")
	dead := collect(letters, 1, nil)[0]
	equal(*dead.Body, "poison", "dead letter")
	equal(dead.Attributes["DeadLetterQueueSourceArn"], attribute(source, "QueueArn"), "DeadLetterQueueSourceArn")
	sources := must(client.ListDeadLetterSourceQueues(ctx, &sqs.ListDeadLetterSourceQueuesInput{QueueUrl: letters}))
	equal(sources.QueueUrls, []string{*source}, "source queues")
}

func checkMoveTask() {
	source, _, arn := killTwice("move")
	must(client.StartMessageMoveTask(ctx, &sqs.StartMessageMoveTaskInput{SourceArn: &arn}))
	var task types.ListMessageMoveTasksResultEntry
	for range 40 {
		task = must(client.ListMessageMoveTasks(ctx, &sqs.ListMessageMoveTasksInput{SourceArn: &arn})).Results[0]
		if *task.Status != "RUNNING" {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	equal(*task.Status, "COMPLETED", "task")
	equal(task.ApproximateNumberOfMessagesMoved, int64(1), "moved")
	equal(*collect(source, 1, nil)[0].Body, "poison", "moved back")
}

func checkLongPoll() {
	queue := create("poll", nil)
	began := time.Now()
	late := time.AfterFunc(700*time.Millisecond, func() {
		client.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: queue, MessageBody: aws.String("wake")})
	})
	defer late.Stop()
	got := receive(queue, func(in *sqs.ReceiveMessageInput) { in.WaitTimeSeconds = 8 })
	equal(bodies(got), []string{"wake"}, "messages")
	equal(time.Since(began) < 6*time.Second, true, "woken by the message, rather than after the wait")
}

func checkTags() {
	queue := create("tags", nil)
	listed := func() settings {
		return must(client.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: queue})).Tags
	}
	must(client.TagQueue(ctx, &sqs.TagQueueInput{QueueUrl: queue, Tags: settings{"team": "mill", "tier": "1"}}))
	equal(listed(), settings{"team": "mill", "tier": "1"}, "tags")
	must(client.UntagQueue(ctx, &sqs.UntagQueueInput{QueueUrl: queue, TagKeys: []string{"tier"}}))
	equal(listed(), settings{"team": "mill"}, "tags")
}

func checkPaging() {
	urls, found, sizes := []string{}, []string{}, []int{}
	for n := range 3 {
		urls = append(urls, *create(fmt.Sprint("page-", n), nil))
	}
	pages := sqs.NewListQueuesPaginator(client, &sqs.ListQueuesInput{
		QueueNamePrefix: aws.String(prefix + "-page-"), MaxResults: aws.Int32(2)})
	for pages.HasMorePages() {
		page := must(pages.NextPage(ctx)).QueueUrls
		sizes = append(sizes, len(page))
		found = append(found, page...)
	}
	equal(sizes, []int{2, 1}, "pages")
	equal(sorted(found), urls, "queues")
}

func failsWith[T error](err error, what string) {
	var typed T
	equal(errors.As(err, &typed), true, fmt.Sprintf("typed error %s out of %v", what, err))
}

func checkErrors() {
	queue := create("errors", nil)
	batch := func(ids ...string) error {
		in := &sqs.SendMessageBatchInput{QueueUrl: queue, Entries: []types.SendMessageBatchRequestEntry{}}
		for _, id := range ids {
			in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{Id: &id, MessageBody: aws.String("m")})
		}
		_, err := client.SendMessageBatch(ctx, in)
		return err
	}
	failsWith[*types.EmptyBatchRequest](batch(), "EmptyBatchRequest")
	failsWith[*types.BatchEntryIdsNotDistinct](batch("a", "a"), "BatchEntryIdsNotDistinct")
	failsWith[*types.TooManyEntriesInBatchRequest](batch(strings.Split("abcdefghijk", "")...), "TooManyEntriesInBatchRequest")
	_, err := client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: queue, ReceiptHandle: aws.String("no-such-handle")})
	failsWith[*types.ReceiptHandleIsInvalid](err, "ReceiptHandleIsInvalid")
}

func checkSignature() {
	_, err := connect(os.Getenv("AWS_ACCESS_KEY_ID"), "wrong").ListQueues(ctx, &sqs.ListQueuesInput{})
	refused("SignatureDoesNotMatch", err)
	_, err = connect("AKIAUNKNOWN", "wrong").ListQueues(ctx, &sqs.ListQueuesInput{})
	refused("InvalidClientTokenId", err)
}

var checks = []struct {
	name string
	run  func()
}{
	{"send", checkSend}, {"batch", checkBatch}, {"visibility", checkVisibility}, {"queue", checkQueue},
	{"attributes", checkAttributes}, {"fifo", checkFifo}, {"dead_letters", checkDeadLetters},
	{"move_task", checkMoveTask}, {"long_poll", checkLongPoll}, {"tags", checkTags}, {"paging", checkPaging},
	{"errors", checkErrors}, {"signature", checkSignature},
}

func outcome(check func()) (why string) {
	defer func() {
		if wrong := recover(); wrong != nil {
			why = fmt.Sprint(wrong)
		}
	}()
	check()
	return
}

func main() {
	if given := os.Getenv("QUERN_INTEROP_PREFIX"); given != "" {
		prefix = given
	}
	client = connect(os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"))
	for _, check := range checks {
		if len(os.Args) > 1 && !slices.Contains(os.Args[1:], check.name) {
			continue
		}
		why := outcome(check.run)
		json.NewEncoder(os.Stdout).Encode(map[string]any{"check": check.name, "ok": why == "", "why": why})
	}
}
