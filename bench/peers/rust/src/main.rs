//! A plain loop of the AWS SDK for Rust: as many tasks as there may be batches in hand, each of them receives, handles the ten
//! at once, and deletes those that succeeded in one request. How it is tuned: README.md.
use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_sqs::error::DisplayErrorContext;
use aws_sdk_sqs::types::{DeleteMessageBatchRequestEntry as Entry, Message, MessageSystemAttributeName};
use aws_sdk_sqs::{Client, Error};
use aws_smithy_http_client::tls::{Provider, TlsContext, TrustStore, rustls_provider::CryptoMode};
use futures_util::future::join_all;
use serde_json::json;
use std::collections::BTreeMap;
use std::env::var;
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch::Receiver as Watch;
use tokio::time::sleep;

fn setting(name: &str, otherwise: u64) -> u64 {
    var(name).ok().and_then(|given| given.parse().ok()).unwrap_or(otherwise)
}

/// What the harness asks for.
struct Settings {
    queue: String,
    batch: i32,
    wait: Duration,
    fail_one_in: u64,
    service: Option<Pool>,
}

/// Connections to the service that handlers ask, where a scenario has one.
struct Pool {
    address: String,
    idle: Mutex<Vec<TcpStream>>,
}

impl Pool {
    /// Asks with the least of HTTP, a request a connection at a time: what is measured is the wait and not an HTTP client.
    async fn ask(&self) -> std::io::Result<()> {
        let idle = self.idle.lock().expect("no handler panics").pop();
        let mut with = match idle {
            Some(there) => there,
            None => {
                let new = TcpStream::connect(&self.address).await?;
                new.set_nodelay(true)?;
                new
            }
        };
        with.write_all(b"POST /hook HTTP/1.1\r\nHost: service\r\nContent-Length: 0\r\n\r\n").await?;
        let (mut answer, mut got) = ([0; 1024], 0);
        while !answer[..got].ends_with(b"\r\n\r\n") {
            match with.read(&mut answer[got..]).await? {
                0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                more => got += more,
            }
        }
        self.idle.lock().expect("no handler panics").push(with);
        Ok(())
    }
}

/// What one loop counts, so that no lock is needed.
#[derive(Default)]
struct Tally {
    handled: u64,
    failed: u64,
    latency: BTreeMap<u64, u64>,
}

impl Tally {
    fn late(&mut self, microseconds: u64) {
        let mut unit = 1;
        while microseconds >= 100 * unit {
            unit *= 10;
        }
        *self.latency.entry(microseconds / unit * unit).or_default() += 1;
    }

    fn add(&mut self, other: Tally) {
        self.handled += other.handled;
        self.failed += other.failed;
        for (bucket, count) in other.latency {
            *self.latency.entry(bucket).or_default() += count;
        }
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

/// The handler; tells whether it succeeded. A body is "<microseconds when it was due> <number> <padding>".
async fn handle(message: &Message, number: u64, settings: &Settings) -> bool {
    if let Some(service) = &settings.service {
        if service.ask().await.is_err() {
            return false;
        }
    } else if !settings.wait.is_zero() {
        sleep(settings.wait).await;
    }
    let told = message.attributes().and_then(|all| all.get(&MessageSystemAttributeName::ApproximateReceiveCount));
    let is_first = told.is_some_and(|count| count == "1");
    !(settings.fail_one_in > 0 && number % settings.fail_one_in == 0 && is_first)
}

async fn step(sqs: &Client, settings: &Settings, stop: &mut Watch<bool>, tally: &mut Tally) -> Result<(), Error> {
    let receive = sqs
        .receive_message()
        .queue_url(&settings.queue)
        .max_number_of_messages(settings.batch)
        .wait_time_seconds(20)
        .message_system_attribute_names(MessageSystemAttributeName::ApproximateReceiveCount);
    let got = tokio::select! {
        got = receive.send() => got?,
        _ = stop.changed() => return Ok(()),
    };
    let mut handlers = Vec::with_capacity(10);
    for message in got.messages() {
        let mut words = message.body().unwrap_or_default().split(' ').map(|word| word.parse().unwrap_or(0));
        let (due, number) = (words.next().unwrap_or(0), words.next().unwrap_or(0));
        tally.late(now().saturating_sub(due));
        handlers.push(handle(message, number, settings));
    }
    let outcomes = join_all(handlers).await;
    let mut entries = Vec::with_capacity(10);
    for (n, (message, succeeded)) in got.messages.unwrap_or_default().into_iter().zip(outcomes).enumerate() {
        if succeeded {
            tally.handled += 1;
            entries.push(Entry::builder().id(n.to_string()).set_receipt_handle(message.receipt_handle).build()?);
        } else {
            tally.failed += 1;
        }
    }
    if !entries.is_empty() {
        let done = sqs.delete_message_batch().queue_url(&settings.queue).set_entries(Some(entries)).send().await?;
        if let Some(failed) = done.failed().first() {
            eprintln!("{} were not deleted: {}", done.failed().len(), failed.code());
        }
    }
    Ok(())
}

async fn consume(sqs: Client, settings: &'static Settings, mut stop: Watch<bool>) -> Tally {
    let mut tally = Tally::default();
    while !*stop.borrow() {
        if let Err(error) = step(&sqs, settings, &mut stop, &mut tally).await {
            eprintln!("{}", DisplayErrorContext(error));
            sleep(Duration::from_secs(1)).await;
        }
    }
    tally
}

/// The SDK's own HTTP client, with the authorities of AWS_CA_BUNDLE, which it does not read itself.
fn connect() -> Client {
    let mut trusted = TrustStore::default();
    if let Some(file) = var("AWS_CA_BUNDLE").ok().filter(|file| !file.is_empty()) {
        trusted = TrustStore::empty().with_pem_certificate(std::fs::read(file).expect("AWS_CA_BUNDLE"));
    }
    let http = aws_smithy_http_client::Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::AwsLc))
        .tls_context(TlsContext::builder().with_trust_store(trusted).build().expect("AWS_CA_BUNDLE"))
        .build_https();
    let given = |name| var(name).unwrap_or_else(|_| panic!("{name} is not set"));
    let endpoint = var("AWS_ENDPOINT_URL_SQS").unwrap_or_else(|_| given("AWS_ENDPOINT_URL"));
    let keys = Credentials::new(given("AWS_ACCESS_KEY_ID"), given("AWS_SECRET_ACCESS_KEY"), None, None, "environment");
    let config = aws_sdk_sqs::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(given("AWS_REGION")))
        .endpoint_url(endpoint)
        .credentials_provider(keys)
        .http_client(http);
    Client::from_conf(config.build())
}

async fn run() -> Tally {
    let in_flight = setting("BENCH_IN_FLIGHT", 1);
    let settings: &'static Settings = Box::leak(Box::new(Settings {
        queue: var("BENCH_QUEUE_URL").expect("BENCH_QUEUE_URL"),
        batch: in_flight.min(10) as i32,
        wait: Duration::from_millis(setting("BENCH_HANDLER_MS", 0)),
        fail_one_in: setting("BENCH_FAIL_ONE_IN", 0),
        service: var("BENCH_ASK").ok().map(|address| Pool { address, idle: Mutex::default() }),
    }));
    let mut terminated = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).expect("a signal handler");
    let (end, stop) = tokio::sync::watch::channel(false);
    let sqs = connect();
    let loops: Vec<_> =
        (0..in_flight.div_ceil(10)).map(|_| tokio::spawn(consume(sqs.clone(), settings, stop.clone()))).collect();
    println!("ready");
    terminated.recv().await;
    let _ = end.send(true);
    let mut total = Tally::default();
    for tally in join_all(loops).await.into_iter().flatten() {
        total.add(tally);
    }
    total
}

fn main() {
    let threads = setting("BENCH_THREADS", 1) as usize;
    let mut runtime = match threads {
        1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    let total = runtime.worker_threads(threads).enable_all().build().expect("a runtime").block_on(run());
    let version = format!("aws-sdk-sqs {}", aws_sdk_sqs::meta::PKG_VERSION);
    let report =
        json!({"handled": total.handled, "failed": total.failed, "latency_us": total.latency, "version": version});
    std::fs::write(var("BENCH_RESULT").expect("BENCH_RESULT"), report.to_string()).expect("BENCH_RESULT");
}
