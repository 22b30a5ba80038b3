//! The AWS SDK for Rust against any SQS: the checks of docs/interop.md, one JSON line each.
//!
//! usage: quern-interop [CHECK...]
use aws_sdk_sqs::config::{retry::RetryConfig, BehaviorVersion, Credentials, Region};
use aws_sdk_sqs::error::ProvideErrorMetadata;
use aws_sdk_sqs::operation::receive_message::builders::ReceiveMessageFluentBuilder as Receive;
use aws_sdk_sqs::operation::send_message_batch::SendMessageBatchError;
use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{
    ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry, Message, MessageAttributeValue,
    MessageSystemAttributeName as Told, MessageSystemAttributeNameForSends, MessageSystemAttributeValue,
    QueueAttributeName as Setting, SendMessageBatchRequestEntry,
};
use aws_sdk_sqs::Client;
use std::collections::HashMap;
use std::{env, error::Error, fmt::Debug, time::Duration, time::Instant};

type Checked<T = ()> = Result<T, Box<dyn Error>>;

fn connect(key: &str, secret: &str) -> Client {
    let config = aws_sdk_sqs::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(env::var("AWS_REGION").unwrap_or("us-east-1".into())))
        .endpoint_url(env::var("AWS_ENDPOINT_URL_SQS").expect("AWS_ENDPOINT_URL_SQS"))
        .credentials_provider(Credentials::new(key, secret, None, None, "interop"))
        .retry_config(RetryConfig::standard().with_max_attempts(2))
        .http_client(aws_smithy_http_client::Builder::new().build_http());
    Client::from_conf(config.build())
}

fn equal<A: PartialEq<B> + Debug, B: Debug>(found: A, wanted: B, what: &str) -> Checked {
    if found == wanted {
        return Ok(());
    }
    Err(format!("{what}: {found:?} instead of {wanted:?}").into())
}

fn sorted(mut list: Vec<String>) -> Vec<String> {
    list.sort();
    list
}

fn bodies(messages: &[Message]) -> Vec<String> {
    messages.iter().map(|m| m.body().unwrap_or_default().into()).collect()
}

fn told(message: &Message, name: Told) -> &str {
    message.attributes().and_then(|all| all.get(&name)).map_or("", String::as_str)
}

struct Suite {
    sqs: Client,
    prefix: String,
}

impl Suite {
    async fn create(&self, name: &str, settings: &[(Setting, &str)]) -> Checked<String> {
        let mut call = self.sqs.create_queue().queue_name(format!("{}-{name}", self.prefix));
        for (name, value) in settings {
            call = call.attributes(name.clone(), *value);
        }
        Ok(call.send().await?.queue_url.unwrap_or_default())
    }

    async fn attribute(&self, queue: &str, name: Setting) -> Checked<String> {
        let got = self.sqs.get_queue_attributes().queue_url(queue).attribute_names(Setting::All).send().await?;
        Ok(got.attributes().and_then(|all| all.get(&name)).cloned().unwrap_or_default())
    }

    async fn put(&self, queue: &str, body: &str) -> Checked {
        self.sqs.send_message().queue_url(queue).message_body(body).send().await?;
        Ok(())
    }

    fn receive(&self, queue: &str) -> Receive {
        let call = self.sqs.receive_message().queue_url(queue).max_number_of_messages(10);
        call.visibility_timeout(30).message_system_attribute_names(Told::All)
    }

    async fn now(&self, queue: &str) -> Checked<Vec<Message>> {
        Ok(self.receive(queue).send().await?.messages.unwrap_or_default())
    }

    /// Receives until there are `count`, or five receives more are not enough.
    async fn collect(&self, call: Receive, count: usize) -> Checked<Vec<Message>> {
        let mut got = Vec::new();
        for _ in 0..count + 5 {
            got.extend(call.clone().wait_time_seconds(1).send().await?.messages.unwrap_or_default());
            if got.len() >= count {
                break;
            }
        }
        equal(got.len(), count, "messages")?;
        Ok(got)
    }

    async fn one(&self, queue: &str) -> Checked<Message> {
        Ok(self.collect(self.receive(queue), 1).await?.remove(0))
    }

    async fn delete(&self, queue: &str, messages: &[Message]) -> Checked {
        for m in messages {
            let call = self.sqs.delete_message().queue_url(queue);
            call.set_receipt_handle(m.receipt_handle.clone()).send().await?;
        }
        Ok(())
    }

    async fn show(&self, queue: &str, m: &Message) -> Checked {
        let call = self.sqs.change_message_visibility().queue_url(queue).visibility_timeout(0);
        call.set_receipt_handle(m.receipt_handle.clone()).send().await?;
        Ok(())
    }

    async fn send(&self) -> Checked {
        let queue = self.create("send", &[]).await?;
        let texts = vec!["plain".into(), "quotes \" \\ \t\n <&> Grüße 你好 😀".into(), "x".repeat(200_000)];
        for text in &texts {
            self.put(&queue, text).await?;
        }
        let got = self.collect(self.receive(&queue), 3).await?;
        equal(sorted(bodies(&got)), sorted(texts), "bodies")?;
        self.delete(&queue, &got).await?;
        equal(self.now(&queue).await?.len(), 0, "after the deletes")
    }

    async fn batch(&self) -> Checked {
        let queue = self.create("batch", &[]).await?;
        let mut call = self.sqs.send_message_batch().queue_url(&queue);
        for id in ["s0", "s1", "s2"] {
            call = call.entries(SendMessageBatchRequestEntry::builder().id(id).message_body(id).build()?);
        }
        equal(call.send().await?.successful.len(), 3, "sent")?;
        let mut call = self.sqs.delete_message_batch().queue_url(&queue);
        let entry = DeleteMessageBatchRequestEntry::builder;
        call = call.entries(entry().id("bad").receipt_handle("no-such-handle").build()?);
        for (n, m) in self.collect(self.receive(&queue), 3).await?.into_iter().enumerate() {
            call = call.entries(entry().id(format!("d{n}")).set_receipt_handle(m.receipt_handle).build()?);
        }
        let done = call.send().await?;
        let ids = done.successful.iter().map(|e| e.id.clone()).collect();
        equal(sorted(ids), ["d0", "d1", "d2"], "deleted")?;
        let failed: Vec<_> = done.failed.iter().map(|e| (e.id(), e.code(), e.sender_fault())).collect();
        equal(failed, [("bad", "ReceiptHandleIsInvalid", true)], "failed")?;
        equal(self.attribute(&queue, Setting::ApproximateNumberOfMessages).await?, "0", "left")?;
        equal(self.attribute(&queue, Setting::ApproximateNumberOfMessagesNotVisible).await?, "0", "left in flight")
    }

    async fn visibility(&self) -> Checked {
        let queue = self.create("visibility", &[]).await?;
        self.put(&queue, "m").await?;
        let first = self.one(&queue).await?;
        equal(self.now(&queue).await?.len(), 0, "while it is hidden")?;
        self.show(&queue, &first).await?;
        let second = self.one(&queue).await?;
        equal(told(&second, Told::ApproximateReceiveCount), "2", "receive count")?;
        let entry = |id: &str, handle: &str| {
            let entry = ChangeMessageVisibilityBatchRequestEntry::builder().id(id).receipt_handle(handle);
            entry.visibility_timeout(1).build()
        };
        let handle = second.receipt_handle().unwrap_or_default();
        let call = self.sqs.change_message_visibility_batch().queue_url(&queue);
        let done = call.entries(entry("c", handle)?).entries(entry("bad", "no-such-handle")?).send().await?;
        equal(done.successful.len(), 1, "changed")?;
        let third = self.one(&queue).await?;
        equal(told(&third, Told::ApproximateReceiveCount), "3", "receive count")?;
        let failed: Vec<_> = done.failed.iter().map(|e| (e.id(), e.code())).collect();
        equal(failed, [("bad", "ReceiptHandleIsInvalid")], "failed")
    }

    async fn queue(&self) -> Checked {
        let name = format!("{}-queue", self.prefix);
        let queue = self.create("queue", &[(Setting::VisibilityTimeout, "45")]).await?;
        let found = self.sqs.get_queue_url().queue_name(&name).send().await?;
        equal(found.queue_url(), Some(queue.as_str()), "URL")?;
        equal(self.attribute(&queue, Setting::VisibilityTimeout).await?, "45", "VisibilityTimeout")?;
        let arn = self.attribute(&queue, Setting::QueueArn).await?;
        equal(arn.ends_with(&format!(":{name}")), true, "ARN")?;
        let change = self.sqs.set_queue_attributes().queue_url(&queue);
        change.attributes(Setting::VisibilityTimeout, "50").send().await?;
        equal(self.attribute(&queue, Setting::VisibilityTimeout).await?, "50", "VisibilityTimeout")?;
        self.put(&queue, "a").await?;
        self.put(&queue, "b").await?;
        equal(self.attribute(&queue, Setting::ApproximateNumberOfMessages).await?, "2", "count")?;
        self.sqs.purge_queue().queue_url(&queue).send().await?;
        equal(self.now(&queue).await?.len(), 0, "after the purge")?;
        self.sqs.delete_queue().queue_url(&queue).send().await?;
        let gone = self.sqs.get_queue_url().queue_name(&name).send().await;
        let missing = gone.is_err_and(|e| e.as_service_error().is_some_and(|e| e.is_queue_does_not_exist()));
        equal(missing, true, "typed error")
    }

    async fn attributes(&self) -> Checked {
        let queue = self.create("attributes", &[]).await?;
        let trace = "Root=1-5759e988-bd862e3fe1be46a994272793";
        let value = |kind: &str| MessageAttributeValue::builder().data_type(kind);
        let bytes = Blob::new((0..=255).collect::<Vec<u8>>());
        let given = HashMap::from([
            ("text".to_string(), value("String").string_value("Grüße").build()?),
            ("kind.number".to_string(), value("Number.int").string_value("17").build()?),
            ("bytes".to_string(), value("Binary").binary_value(bytes).build()?),
        ]);
        let header = MessageSystemAttributeValue::builder().data_type("String").string_value(trace).build()?;
        let call = self.sqs.send_message().queue_url(&queue).message_body("m");
        let call = call.set_message_attributes(Some(given.clone()));
        call.message_system_attributes(MessageSystemAttributeNameForSends::AwsTraceHeader, header).send().await?;

        let all = self.collect(self.receive(&queue).message_attribute_names("All"), 1).await?.remove(0);
        equal(all.message_attributes(), Some(&given), "attributes")?;
        equal(told(&all, Told::AwsTraceHeader), trace, "AWSTraceHeader")?;
        self.show(&queue, &all).await?;
        let none = self.one(&queue).await?;
        equal(none.message_attributes().map_or(0, HashMap::len), 0, "attributes that nobody asked for")?;
        self.show(&queue, &none).await?;
        let call = self.receive(&queue).message_attribute_names("kind.*").message_attribute_names("text");
        let some = self.collect(call, 1).await?.remove(0);
        equal(some.message_attributes().map_or(0, HashMap::len), 2, "attributes by name")
    }

    async fn fifo(&self) -> Checked {
        let settings = [(Setting::FifoQueue, "true"), (Setting::ContentBasedDeduplication, "true")];
        let queue = self.create("fifo.fifo", &settings).await?;
        for body in ["a1", "b1", "a2", "a3", "b2", "a1"] {
            // the second a1 is a duplicate
            let call = self.sqs.send_message().queue_url(&queue).message_body(body);
            call.message_group_id(&body[..1]).send().await?;
        }
        let mut got = self.collect(self.receive(&queue).max_number_of_messages(1), 1).await?;
        let head = bodies(&got).remove(0);
        let others = self.now(&queue).await?;
        let early = bodies(&others).into_iter().filter(|b| b[..1] == head[..1]).count();
        equal(early, 0, "of a group whose head is in flight")?;
        got.extend(others);
        let mut order = Vec::new();
        while !got.is_empty() {
            order.extend(bodies(&got));
            self.delete(&queue, &got).await?;
            got = self.receive(&queue).wait_time_seconds(1).send().await?.messages.unwrap_or_default();
        }
        let group = |name: &str| order.iter().filter(|b| b.starts_with(name)).cloned().collect::<Vec<_>>();
        equal(group("a"), ["a1", "a2", "a3"], "group a")?;
        equal(group("b"), ["b1", "b2"], "group b")
    }

    /// A queue, its dead-letter queue and that one's ARN; a message has gone from one to the other.
    async fn kill_twice(&self, name: &str) -> Checked<(String, String, String)> {
        let letters = self.create(&format!("{name}-dlq"), &[]).await?;
        let arn = self.attribute(&letters, Setting::QueueArn).await?;
        let policy = serde_json::json!({"deadLetterTargetArn": arn, "maxReceiveCount": 2}).to_string();
        let source = self.create(name, &[(Setting::RedrivePolicy, &policy)]).await?;
        self.put(&source, "poison").await?;
        for _ in 0..2 {
            let got = self.one(&source).await?;
            self.show(&source, &got).await?;
        }
        equal(self.now(&source).await?.len(), 0, "after its last receive")?;
        Ok((source, letters, arn))
    }

    async fn dead_letters(&self) -> Checked {
        let (source, letters, _) = self.kill_twice("letters").await?;
        let dead = self.one(&letters).await?;
        equal(dead.body(), Some("poison"), "dead letter")?;
        let arn = self.attribute(&source, Setting::QueueArn).await?;
        equal(told(&dead, Told::DeadLetterQueueSourceArn), arn, "DeadLetterQueueSourceArn")?;
        let sources = self.sqs.list_dead_letter_source_queues().queue_url(&letters).send().await?;
        equal(sources.queue_urls, [source], "source queues")
    }

    async fn move_task(&self) -> Checked {
        let (source, _, arn) = self.kill_twice("move").await?;
        self.sqs.start_message_move_task().source_arn(&arn).send().await?;
        let (mut status, mut moved) = (String::new(), 0);
        for _ in 0..40 {
            let listed = self.sqs.list_message_move_tasks().source_arn(&arn).send().await?;
            let task = listed.results().first().ok_or("no task is listed")?;
            (status, moved) = (task.status().unwrap_or_default().into(), task.approximate_number_of_messages_moved());
            if status != "RUNNING" {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        equal((status.as_str(), moved), ("COMPLETED", 1), "task")?;
        equal(self.one(&source).await?.body(), Some("poison"), "moved back")
    }

    async fn long_poll(&self) -> Checked {
        let queue = self.create("poll", &[]).await?;
        let began = Instant::now();
        let late = async {
            tokio::time::sleep(Duration::from_millis(700)).await;
            self.put(&queue, "wake").await
        };
        let (got, sent) = tokio::join!(self.receive(&queue).wait_time_seconds(8).send(), late);
        sent?;
        equal(bodies(got?.messages()), ["wake"], "messages")?;
        equal(began.elapsed() < Duration::from_secs(6), true, "woken by the message, rather than after the wait")
    }

    async fn tags(&self) -> Checked {
        let queue = self.create("tags", &[]).await?;
        let listed = || async { self.sqs.list_queue_tags().queue_url(&queue).send().await };
        let tags = |all: &[(&str, &str)]| -> Option<HashMap<String, String>> {
            Some(all.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect())
        };
        self.sqs.tag_queue().queue_url(&queue).tags("team", "mill").tags("tier", "1").send().await?;
        equal(listed().await?.tags, tags(&[("team", "mill"), ("tier", "1")]), "tags")?;
        self.sqs.untag_queue().queue_url(&queue).tag_keys("tier").send().await?;
        equal(listed().await?.tags, tags(&[("team", "mill")]), "tags")
    }

    async fn paging(&self) -> Checked {
        let (mut urls, mut sizes, mut found) = (Vec::new(), Vec::new(), Vec::new());
        for n in 0..3 {
            urls.push(self.create(&format!("page-{n}"), &[]).await?);
        }
        let call = self.sqs.list_queues().queue_name_prefix(format!("{}-page-", self.prefix));
        let mut pages = call.into_paginator().page_size(2).send();
        while let Some(page) = pages.next().await {
            let page = page?.queue_urls.unwrap_or_default();
            sizes.push(page.len());
            found.extend(page);
        }
        equal(sizes, [2, 1], "pages")?;
        equal(sorted(found), urls, "queues")
    }

    /// Each letter is the id of an entry.
    async fn refused_batch(&self, queue: &str, ids: &str) -> Checked<SendMessageBatchError> {
        let mut entries = Vec::new();
        for id in ids.chars() {
            entries.push(SendMessageBatchRequestEntry::builder().id(id).message_body("m").build()?);
        }
        let call = self.sqs.send_message_batch().queue_url(queue).set_entries(Some(entries));
        Ok(call.send().await.err().ok_or("it was accepted")?.into_service_error())
    }

    async fn errors(&self) -> Checked {
        let queue = self.create("errors", &[]).await?;
        equal(self.refused_batch(&queue, "").await?.is_empty_batch_request(), true, "EmptyBatchRequest")?;
        let twice = self.refused_batch(&queue, "aa").await?;
        equal(twice.is_batch_entry_ids_not_distinct(), true, "BatchEntryIdsNotDistinct")?;
        let many = self.refused_batch(&queue, "abcdefghijk").await?;
        equal(many.is_too_many_entries_in_batch_request(), true, "TooManyEntriesInBatchRequest")?;
        let call = self.sqs.delete_message().queue_url(&queue).receipt_handle("no-such-handle");
        let bad = call.send().await.err().ok_or("it was accepted")?.into_service_error();
        equal(bad.is_receipt_handle_is_invalid(), true, "ReceiptHandleIsInvalid")
    }

    async fn signature(&self) -> Checked {
        let right = env::var("AWS_ACCESS_KEY_ID")?;
        for (key, code) in [(right.as_str(), "SignatureDoesNotMatch"), ("AKIAUNKNOWN", "InvalidClientTokenId")] {
            let answer = connect(key, "wrong").list_queues().send().await;
            equal(answer.err().and_then(|e| e.code().map(str::to_string)).as_deref(), Some(code), "error code")?;
        }
        Ok(())
    }
}

/// What happened, with its causes.
fn told_fully(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut at = error.source();
    while let Some(cause) = at {
        text += &format!(": {cause}");
        at = cause.source();
    }
    text
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let variable = |name| env::var(name).unwrap_or_default();
    let sqs = connect(&variable("AWS_ACCESS_KEY_ID"), &variable("AWS_SECRET_ACCESS_KEY"));
    let suite = Suite { sqs, prefix: env::var("QUERN_INTEROP_PREFIX").unwrap_or("rust".into()) };
    let wanted: Vec<String> = env::args().skip(1).collect();
    macro_rules! run {
        ($($check:ident),*) => {$(
            if wanted.is_empty() || wanted.iter().any(|name| name == stringify!($check)) {
                let why = suite.$check().await.map_or_else(|e| told_fully(&*e), |()| String::new());
                println!("{}", serde_json::json!({"check": stringify!($check), "ok": why.is_empty(), "why": why}));
            }
        )*};
    }
    run!(send, batch, visibility, queue, attributes, fifo, dead_letters, move_task, long_poll, tags, paging, errors,
        signature);
}
