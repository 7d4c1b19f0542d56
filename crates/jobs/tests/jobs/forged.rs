//! Jobs that no leader wrote. A worker refuses each with its cause, and reads only what the payload asks for.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bullmq::options::RedisConnectionOptions;
use bullmq::{Queue, QueueOptions};
use evergrove_jobs::bullmq::{Config, PREFIX, QUEUE, Redis, Worker, WorkerConfig, WorkerEvent};
use evergrove_jobs::objects::Objects;
use evergrove_jobs::{Cancel, Key};
use evergrove_testkit::engine::key;
use evergrove_testkit::faults::FaultyObjects;
use evergrove_testkit::servers::RedisServer;
use evergrove_testkit::text::TextWork;
use serde_json::{Value, json};

/// The run that the jobs claim to belong to.
const RUN: &str = "r1";
/// Time after which a test ends its worker.
const PATIENCE: Duration = Duration::from_secs(60);

/// How an attempt at a job ended: done, or the cause and whether the job may be tried again.
type End = Result<(), (String, bool)>;

/// A payload that asks for `inputs` inputs of task 6.
fn payload(inputs: usize) -> Vec<u8> {
    format!("6 0 0 {inputs}").into_bytes()
}

fn hash(bytes: &[u8]) -> Key {
    Key(*blake3::hash(bytes).as_bytes())
}

/// The data of a job with this payload, which is a pack of its own.
fn data(payload: &[u8], inputs: &[Key]) -> Value {
    let inputs: Vec<_> = inputs.iter().map(Key::to_string).collect();
    let (own, hash) = (key(6).to_string(), hash(payload).to_string());
    json!({ "key": own, "payload": hash, "pack": hash, "offset": 0, "length": payload.len(), "inputs": inputs })
}

/// The data with another value of a field.
fn with(mut data: Value, field: &str, value: impl Into<Value>) -> Value {
    data[field] = value.into();
    data
}

/// A queue and an object store that anyone can write to.
struct Open {
    server: RedisServer,
    store: FaultyObjects,
    objects: Objects,
}

impl Open {
    /// Stores payloads that ask for 0 to 2 inputs, two inputs, and a large object.
    fn start() -> Option<Self> {
        let (server, store) = (RedisServer::start()?, FaultyObjects::new());
        let objects = Objects::new(Arc::new(store.clone()), "objects").expect("opens");
        for payload in [payload(0), payload(1), payload(2), b"nonsense".to_vec()] {
            objects.payloads(RUN).replace(&hash(&payload), &payload).expect("stores");
        }
        for (n, bytes) in [(0, b"0()".to_vec()), (1, b"1()".to_vec()), (9, vec![b'9'; 1 << 20])] {
            objects.put(&key(n), &bytes).expect("stores");
        }
        Some(Self { server, store, objects })
    }

    /// Adds jobs to the queue with one attempt each, lets a worker try them, and returns how they ended.
    fn work(&self, generation: usize, jobs: &[Value]) -> Vec<End> {
        let names: Vec<_> = (0..jobs.len()).map(|n| format!("{RUN}-{generation}-{n}")).collect();
        self.add(names.iter().zip(jobs));
        let queue = Config::new(Redis::new(&self.server.url(), None).expect("valid"));
        let worker = WorkerConfig { queue, objects: self.objects.clone(), concurrency: 1, name: "one".into() };
        let (ends, drain) = (RefCell::new(BTreeMap::new()), Cancel::new());
        let observe = |event: &WorkerEvent<'_>| {
            let (job, end) = match *event {
                WorkerEvent::Finished { job, .. } => (job, Ok(())),
                WorkerEvent::Failed { job, cause, retry, .. } => (job, Err((cause.to_owned(), retry))),
                WorkerEvent::Postponed { job, cause, .. } => (job, Err((format!("put off: {cause}"), true))),
                _ => return,
            };
            ends.borrow_mut().insert(job.to_owned(), end);
            if ends.borrow().len() == jobs.len() {
                drain.cancel();
            }
        };
        let late = drain.clone();
        thread::spawn(move || {
            thread::sleep(PATIENCE);
            late.cancel();
        });
        Worker::run(&worker, &TextWork::default(), &observe, &drain).expect("works");
        let mut ends = ends.into_inner();
        names.iter().map(|name| ends.remove(name).expect("the worker tells of each job")).collect()
    }

    /// The objects other than payloads that were read, and how often.
    fn read(&self) -> Vec<(String, usize)> {
        self.store.read().into_iter().filter(|(object, _)| !object.starts_with("payloads/")).collect()
    }

    fn add<'a>(&self, jobs: impl Iterator<Item = (&'a String, &'a Value)>) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let options = QueueOptions::new().connection(RedisConnectionOptions::new().url(self.server.url()));
            let queue = Queue::with_options(QUEUE, options.prefix(PREFIX)).await.expect("connects");
            for (name, data) in jobs {
                queue.add("join", data.clone()).job_id(name.as_str()).await.expect("is added");
            }
        });
    }
}

#[test]
fn no_input_is_read_of_a_job_with_another_number_of_them() {
    let Some(open) = Open::start() else { return };
    let (two, none) = (payload(2), payload(0));
    let many: Vec<_> = vec![key(9); 5000];
    let late = with(data(&two, &[key(404)]), "shared", true);
    let refused = |named, wanted| Err((format!("{named} inputs of a text that joins {wanted}"), false));
    let jobs = [data(&two, &many), data(&none, &many), data(&two, &[]), data(&two, &[key(0)]), late];
    let ends = [refused(5000, 2), refused(5000, 0), refused(0, 2), refused(1, 2), refused(1, 2)];
    assert_eq!(open.work(0, &jobs), ends);
    assert_eq!(open.read(), []);

    // The job's existing result is not read either.
    open.objects.put(&key(6), b"6(0()1())").expect("stores");
    assert_eq!(open.work(1, &[data(&two, &many)]), [refused(5000, 2)]);
    assert_eq!(open.read(), []);
    open.objects.delete(&key(6)).expect("deletes");

    // With the right number, each input is read once, after a look for the result, which does not exist.
    assert_eq!(open.work(2, &[data(&two, &[key(0), key(1)])]), [Ok(())]);
    assert_eq!(open.read(), [0, 1, 6].map(|n| (format!("proofs/{}", key(n)), 1)));
    assert_eq!(open.objects.get(&key(6)).expect("answers").as_deref(), Some(&b"6(0()1())"[..]));
}

#[test]
fn nothing_is_read_of_a_job_without_its_payload() {
    let Some(open) = Open::start() else { return };
    let (two, nonsense) = (payload(2), b"nonsense");
    let job = data(&two, &[key(0), key(1)]);
    let length = two.len();
    for (n, (data, cause, retry)) in [
        (with(job.clone(), "length", 1_u64 << 40), format!("{} bytes from 0 are not part", 1_u64 << 40), true),
        (with(job.clone(), "offset", u64::MAX), format!("{length} bytes from {} are not part", u64::MAX), true),
        (with(job.clone(), "length", -1), "the job's data cannot be read".into(), false),
        (with(job.clone(), "length", length - 1), format!("payload {} was not what its hash says", hash(&two)), false),
        (with(job.clone(), "pack", key(1).to_string()), format!("payloads {} are not in the", key(1)), false),
        (with(job.clone(), "key", "6"), "a key is not 64 hexadecimal digits".into(), false),
        (with(job.clone(), "inputs", vec!["x"; 5000]), "a key is not 64 hexadecimal digits".into(), false),
        (with(job, "inputs", "x"), "the job's data cannot be read".into(), false),
        (Value::Null, "the job's data cannot be read".into(), false),
        (data(nonsense, &[key(9); 2]), "is not a payload of texts".into(), false),
    ]
    .into_iter()
    .enumerate()
    {
        let ends = open.work(n, &[data]);
        assert!(matches!(&ends[..], [Err((found, may))] if found.contains(&cause) && *may == retry), "{n}: {ends:?}");
    }
    assert_eq!(open.read(), []);
}

#[test]
fn the_text_of_a_failure_does_not_grow_with_what_it_quotes() {
    let Some(open) = Open::start() else { return };
    let ends = open.work(0, &[with(data(&payload(2), &[]), "length", "\u{fc}".repeat(1 << 20))]);
    let [Err((cause, false))] = &ends[..] else { panic!("expected a refusal, found {ends:?}") };
    assert!(cause.starts_with("the job's data cannot be read: invalid type: string \"\u{fc}"), "{cause}");
    assert!((4090..=4096).contains(&cause.len()), "{} bytes", cause.len());
}
