//! A worker lets lockbench test a lock library. This crate speaks version 2 of the worker protocol on the standard streams.
//! An adapter only needs functions that call the library:
//!
//! ```no_run
//! use lockbench_worker::{Error, Grant, Worker};
//! # struct Client; struct Lock;
//! # impl Client { fn open(_: &str) -> Result<Client, std::io::Error> { Ok(Client) }
//! #     fn try_lock(&self, _: &str, _: std::time::Duration) -> Result<Option<Lock>, std::io::Error> { Ok(None) } }
//! # impl Lock { fn unlock(&self) -> Result<(), std::io::Error> { Ok(()) } }
//!
//! fn main() {
//!     Worker::new("my-lock", |env| Ok(Client::open(env.node())?))
//!         .try_acquire(|client, request| match client.try_lock(&request.key, request.ttl)? {
//!             Some(lock) => Ok(Grant::new(lock)),
//!             None => Err(Error::Busy),
//!         })
//!         .release(|_, hold| Ok(hold.handle()?.unlock()?))
//!         .run()
//! }
//! ```
//!
//! Functions are called concurrently. [`Error::Busy`] and [`Error::NotHeld`] are definite; any other error means that the
//! request may have taken effect.

mod acquire;
mod grant;
mod json;
mod resource;
mod server;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use acquire::{Acquire, NO_TIMEOUT};
pub use grant::{Grant, Hold, Notices, Validity};
use json::Json;

/// The reason why a request failed. The operator `?` converts other errors to [`Error::Unknown`].
#[derive(Debug)]
pub enum Error {
    /// A definite refusal of an acquire: another client holds the lock, and the acquire left nothing behind.
    Busy,
    /// A definite refusal of a release or renewal: the store no longer has the hold, and nothing was changed.
    NotHeld,
    /// A definite refusal by the guarded resource, because it has seen a higher fencing token.
    Stale,
    /// Any other error: the request may or may not have taken effect.
    Unknown(String),
}

impl<E: std::error::Error> From<E> for Error {
    fn from(e: E) -> Error {
        let mut text = format!("{}: {e}", std::any::type_name::<E>());
        let mut cause = e.source();
        while let Some(e) = cause {
            text += &format!(": {e}");
            cause = e.source();
        }
        Error::Unknown(text)
    }
}

/// The environment in which a worker opens its lock.
#[derive(Clone)]
pub struct Env {
    /// URLs of the servers. They may contain passwords: do not print them.
    pub nodes: Vec<String>,
    /// Prefix of every key in the store. The keys of requests already contain the prefix.
    pub prefix: String,
    /// File of certificates to trust, or "".
    pub ca_file: String,
    /// Number of this process, from 0.
    pub process: u32,
    /// Seed for random numbers, so that a trial can be repeated.
    pub seed: u64,
    /// Lease that the acquires of this trial request.
    pub ttl: Duration,
    /// Further parameters, by name.
    pub params: BTreeMap<String, String>,
    lost_all: Arc<dyn Fn() + Send + Sync>,
}

impl Env {
    fn new(line: &Json, lost_all: Arc<dyn Fn() + Send + Sync>) -> Env {
        let texts = |list: &Json| match list {
            Json::List(items) => {
                items.iter().map(|item| if let Json::Text(t) = item { t.clone() } else { item.to_string() }).collect()
            }
            _ => Vec::new(),
        };
        let params = line.get("params");
        let names = if let Json::Object(fields) = params { fields.iter().map(|f| f.0.clone()).collect() } else { Vec::new() };
        Env {
            nodes: texts(line.get("nodes")),
            prefix: line.text("prefix"),
            ca_file: line.text("ca_file"),
            process: line.number("process") as u32,
            seed: line.number("seed") as u64,
            ttl: millis(line.number("ttl_ms")),
            params: names.into_iter().map(|name: String| (name.clone(), params.text(&name))).collect(),
            lost_all,
        }
    }

    /// Returns the URL of the first server, or "".
    pub fn node(&self) -> &str {
        self.nodes.first().map_or("", String::as_str)
    }

    /// Reports the loss of all current holds, for a lock whose holds end with a session.
    pub fn lost_all(&self) {
        (self.lost_all)()
    }
}

/// The store's entry of a held key. If `left` is `None`, the entry has no expiry.
pub struct Stored {
    pub token: String,
    pub left: Option<Duration>,
}

type Open<S> = Box<dyn Fn(&Env) -> Result<S, Error> + Send + Sync>;
type Function<S, X, R> = Box<dyn Fn(&S, &X) -> Result<R, Error> + Send + Sync>;
type Probe<S> = Box<dyn Fn(&S, &str) -> Result<Option<Stored>, Error> + Send + Sync>;

/// A worker for a lock. `S` is the opened lock, such as a client of the store. `H` is the library's lock object; each
/// hold has one.
pub struct Worker<S, H> {
    name: String,
    open: Open<S>,
    about: Vec<(String, Json)>,
    capabilities: Vec<String>,
    expectations: Vec<Json>,
    backoff: Duration,
    try_acquire: Option<Function<S, Acquire, Grant<H>>>,
    acquire: Option<Function<S, Acquire, Grant<H>>>,
    release: Option<Function<S, Hold<H>, ()>>,
    renew: Option<Function<S, Hold<H>, Duration>>,
    probe: Option<Probe<S>>,
}

impl<S: Send + Sync + 'static, H: Send + Sync + 'static> Worker<S, H> {
    /// Returns a worker for a lock that `open` opens.
    pub fn new(name: &str, open: impl Fn(&Env) -> Result<S, Error> + Send + Sync + 'static) -> Self {
        Worker {
            name: name.into(),
            open: Box::new(open),
            about: Vec::new(),
            capabilities: Vec::new(),
            expectations: Vec::new(),
            backoff: Duration::from_millis(20),
            try_acquire: None,
            acquire: None,
            release: None,
            renew: None,
            probe: None,
        }
    }

    fn about(mut self, name: &str, value: Json) -> Self {
        self.about.push((name.into(), value));
        self
    }

    /// Sets the description of the lock, in one sentence.
    pub fn doc(self, doc: &str) -> Self {
        self.about("doc", doc.into())
    }

    /// Sets the store; the default is redis.
    pub fn store(self, store: &str) -> Self {
        self.about("store", store.into())
    }

    /// Sets the deployment of the store's servers, such as replica or five; the default is single.
    pub fn deployment(self, deployment: &str) -> Self {
        self.about("deployment", deployment.into())
    }

    /// Sets the shortest lease that the lock supports.
    pub fn shortest_lease(self, lease: Duration) -> Self {
        self.about("shortest_lease_ms", Json::Int(lease.as_millis() as i128))
    }

    /// Sets the duration of which every lease must be a multiple.
    pub fn lease_step(self, step: Duration) -> Self {
        self.about("lease_step_ms", Json::Int(step.as_millis() as i128))
    }

    /// Sets the longest time from the start of the process to its first line, if that is over 10 seconds.
    pub fn start_time(self, longest: Duration) -> Self {
        self.about("start_ms", Json::Int(longest.as_millis() as i128))
    }

    /// Adds capabilities that do not follow from the functions, such as watchdog, reentrant, lost, fencing, notifies or session.
    pub fn declare(mut self, names: &[&str]) -> Self {
        self.capabilities.extend(names.iter().map(|name| name.to_string()));
        self
    }

    /// Sets the delay between two tries of a waiter; the default is 20 ms.
    pub fn backoff(mut self, delay: Duration) -> Self {
        self.backoff = delay;
        self
    }

    /// Adds an expectation that differs from the default. An empty fault means no fault; an empty workload means all
    /// ordinary workloads.
    pub fn expect(mut self, property: &str, verdict: &str, fault: &str, workload: &str, because: &str) -> Self {
        let fields =
            [("property", property), ("verdict", verdict), ("fault", fault), ("workload", workload), ("because", because)];
        self.expectations
            .push(Json::Object(fields.iter().filter(|f| !f.1.is_empty()).map(|f| (f.0.to_string(), f.1.into())).collect()));
        self
    }

    /// Sets the function that tries once to acquire, without waiting. The worker repeats the try until the grant or the
    /// timeout.
    pub fn try_acquire(mut self, function: impl Fn(&S, &Acquire) -> Result<Grant<H>, Error> + Send + Sync + 'static) -> Self {
        self.try_acquire = Some(Box::new(function));
        self.declare(&["cancel"])
    }

    /// Sets the function that acquires, for a library that waits by itself. The function must wait for at most the
    /// `wait` of the request. If the lock declares the capability cancel, the function must use [`Acquire::on_cancel`].
    pub fn acquire(mut self, function: impl Fn(&S, &Acquire) -> Result<Grant<H>, Error> + Send + Sync + 'static) -> Self {
        self.acquire = Some(Box::new(function));
        self.declare(&["waits"])
    }

    /// Sets the function that releases.
    pub fn release(mut self, function: impl Fn(&S, &Hold<H>) -> Result<(), Error> + Send + Sync + 'static) -> Self {
        self.release = Some(Box::new(function));
        self
    }

    /// Sets the function that renews a hold. The function returns the new validity, counted from the call.
    pub fn renew(mut self, function: impl Fn(&S, &Hold<H>) -> Result<Duration, Error> + Send + Sync + 'static) -> Self {
        self.renew = Some(Box::new(function));
        self.declare(&["renew"])
    }

    /// Sets the function that queries the store for the entry of a key. The function returns `None` if the key is free.
    pub fn probe(mut self, function: impl Fn(&S, &str) -> Result<Option<Stored>, Error> + Send + Sync + 'static) -> Self {
        self.probe = Some(Box::new(function));
        self.declare(&["probe"])
    }

    /// Serves requests until the end of the input or a shutdown request. Then it ends the process without releasing
    /// holds.
    pub fn run(self) -> ! {
        assert!(self.release.is_some(), "define release");
        assert!(self.try_acquire.is_some() != self.acquire.is_some(), "define either try_acquire or acquire");
        server::run(self)
    }

    /// Returns the first line of the worker.
    fn description(&self) -> Json {
        let mut line = vec![("lockbench_worker".into(), Json::Int(server::VERSION)), ("name".into(), self.name.as_str().into())];
        line.extend(self.about.iter().cloned());
        line.push(("capabilities".into(), Json::List(self.capabilities.iter().map(|c| c.as_str().into()).collect())));
        if self.try_acquire.is_some() {
            line.push(("backoff_ms".into(), Json::Int(self.backoff.as_millis() as i128)));
        }
        if !self.expectations.is_empty() {
            line.push(("expect".into(), Json::List(self.expectations.clone())));
        }
        Json::Object(line)
    }
}

fn millis(n: i64) -> Duration {
    Duration::from_millis(n.max(0) as u64)
}

/// Locks a mutex even if a thread panicked while it held the mutex. Other requests can then continue.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
