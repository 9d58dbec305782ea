//! The server of a worker: it reads requests, calls the functions of the adapter, and writes replies.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::grant::{Holds, Notice};
use crate::json::Json;
use crate::resource::Resource;
use crate::{locked, millis, Acquire, Env, Error, Grant, Hold, Validity, Worker};

pub const VERSION: i128 = 2;
const MAX_LINE: usize = 1 << 20;
const MAX_ERROR: usize = 1000;

type Fields = Vec<(String, Json)>;

struct Server<S, H> {
    worker: Worker<S, H>,
    lock: S,
    prefix: String,
    secret: String, // the URL of the guarded resource; error messages must not contain it
    resource: Resource,
    out: Arc<Output>,
    holds: Arc<Mutex<Holds<H>>>,
    pending: Mutex<HashMap<i64, Arc<Acquire>>>,
}

/// The standard output.
struct Output(Mutex<File>);

impl Output {
    fn write(&self, line: Json) {
        // Ignore errors: they mean that lockbench has ended. The standard input then ends too, and the worker stops.
        let _ = locked(&self.0).write_all(format!("{line}\n").as_bytes());
    }
}

/// Serves the standard streams and ends the process.
pub fn run<S: Send + Sync + 'static, H: Send + Sync + 'static>(worker: Worker<S, H>) -> ! {
    std::process::exit(match serve(worker) {
        Ok(()) => 0,
        Err(e) => {
            eprintln!("{e}");
            1
        }
    })
}

fn serve<S: Send + Sync + 'static, H: Send + Sync + 'static>(worker: Worker<S, H>) -> Result<(), String> {
    let out = Arc::new(Output(Mutex::new(take_stdout().map_err(|e| e.to_string())?)));
    let mut input = BufReader::new(io::stdin());
    let first = Json::parse(&next_line(&mut input)?.unwrap_or_default())?;
    if *first.get("lockbench_worker") != Json::Int(VERSION) {
        return Err(format!("the first line must be of version {VERSION} of the worker protocol"));
    }
    let description = worker.description();
    let server = if first.is_true("describe") { None } else { Some(Arc::new(Server::open(worker, &first, out.clone())?)) };
    out.write(description);
    while let Some(text) = next_line(&mut input)? {
        let (request, read) = (Json::parse(&text)?, Instant::now());
        match &server {
            _ if request.text("do") == "shutdown" => break,
            Some(server) => server.take(request, read),
            None => {}
        }
    }
    Ok(())
}

/// Returns the standard output for replies. All other output of the program is redirected to standard error.
fn take_stdout() -> io::Result<File> {
    extern "C" {
        fn dup2(from: i32, to: i32) -> i32;
    }
    let out = io::stdout().as_fd().try_clone_to_owned()?;
    // SAFETY: dup2 changes a descriptor and no memory, and both descriptors are open.
    if unsafe { dup2(io::stderr().as_raw_fd(), io::stdout().as_raw_fd()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(File::from(out))
}

/// Returns the next line, or None at the end of the input.
fn next_line(input: &mut impl BufRead) -> Result<Option<String>, String> {
    let mut line = Vec::new();
    input.take(MAX_LINE as u64 + 1).read_until(b'\n', &mut line).map_err(|e| e.to_string())?;
    match line.pop() {
        Some(b'\n') => String::from_utf8(line).map(Some).map_err(|e| e.to_string()),
        _ if line.len() >= MAX_LINE => Err(format!("a line has more than {MAX_LINE} bytes")),
        _ => Ok(None),
    }
}

/// Returns the fields of the reply to a ping: the wall clock, if the request asks for it.
fn ping(request: &Json) -> Fields {
    if !request.is_true("time") {
        return Vec::new();
    }
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    vec![("time_ms".into(), Json::Int(time.as_millis() as i128))]
}

impl<S: Send + Sync + 'static, H: Send + Sync + 'static> Server<S, H> {
    fn open(worker: Worker<S, H>, first: &Json, out: Arc<Output>) -> Result<Self, String> {
        let holds = Arc::new(Mutex::new(Holds::<H>::new()));
        let (current, secret) = (Arc::clone(&holds), first.text("resource"));
        let lost_all = move || {
            let holds = locked(&current).current();
            holds.iter().filter_map(|hold| hold.grant.as_ref()).for_each(|grant| grant.notices.lost());
        };
        let env = Env::new(first, Arc::new(lost_all));
        let lock = (worker.open)(&env).map_err(|e| {
            let why = redacted(&format!("{e:?}"), &secret);
            let fields =
                [("lockbench_worker", Json::Int(VERSION)), ("name", worker.name.as_str().into()), ("error", why.as_str().into())];
            out.write(object(fields));
            why
        })?;
        let resource = Resource::new(&secret);
        Ok(Server { worker, lock, prefix: env.prefix, secret, resource, out, holds, pending: Mutex::default() })
    }

    /// Starts to serve a request. Each request has a thread, so that an acquire that waits does not delay a release.
    fn take(self: &Arc<Self>, request: Json, read: Instant) {
        let id = request.number("id");
        match request.text("do").as_str() {
            "ping" => return self.reply(id, Ok(ping(&request))),
            "cancel" => {
                let acquire = locked(&self.pending).get(&request.number("hold")).cloned();
                return acquire.map_or((), |acquire| acquire.cancel());
            }
            "acquire" => {
                let acquire = Acquire::new(&self.prefix, &request);
                locked(&self.pending).insert(id, Arc::new(acquire));
            }
            _ => {}
        }
        let server = self.clone();
        if let Err(e) = thread::Builder::new().spawn(move || server.serve(&request, read)) {
            locked(&self.pending).remove(&id);
            self.reply(id, Err(e.into())); // the system could not start another thread
        }
    }

    fn serve(&self, request: &Json, read: Instant) {
        let id = request.number("id");
        let answered = catch_unwind(AssertUnwindSafe(|| self.answer(request, read)));
        let result = answered.unwrap_or_else(|_| Err(Error::Unknown("the adapter panicked; see its log".into())));
        locked(&self.pending).remove(&id);
        let granted = result.is_ok() && request.text("do") == "acquire";
        self.reply(id, result);
        if let Some(hold) = granted.then(|| locked(&self.holds).find(id)).flatten() {
            self.report(id, read, &hold);
        }
    }

    fn answer(&self, request: &Json, read: Instant) -> Result<Fields, Error> {
        let (key, fence) = (request.text("key"), request.number("fence"));
        match request.text("do").as_str() {
            "acquire" => self.acquire(request.number("id"), read),
            "release" => {
                let hold = self.hold_of(request);
                locked(&self.holds).end(request.number("hold"));
                let release = self.worker.release.as_ref().ok_or_else(unsupported)?;
                release(&self.lock, &hold).map(|()| Vec::new())
            }
            "renew" => {
                let renew = self.worker.renew.as_ref().ok_or_else(unsupported)?;
                let sent = read.elapsed();
                let validity = renew(&self.lock, &self.hold_of(request))?;
                Ok(vec![("sent_after_ns".into(), nanos(sent)), ("validity_ns".into(), nanos(validity))])
            }
            "probe" => {
                let probe = self.worker.probe.as_ref().ok_or_else(unsupported)?;
                let stored = probe(&self.lock, &(self.prefix.clone() + &key))?;
                Ok(stored.map_or(Vec::new(), |s| {
                    vec![("token".into(), s.token.into()), ("left_ns".into(), s.left.map_or(Json::Int(-1), nanos))]
                }))
            }
            "read" => {
                let text = self.resource.send("GET", &key, fence, "")?;
                Ok(vec![("value".into(), Json::Int(text.trim().parse()?))])
            }
            "write" => self.resource.send("PUT", &key, fence, &request.number("value").to_string()).map(|_| Vec::new()),
            "append" => self.resource.send("POST", &key, fence, "").map(|_| Vec::new()),
            _ => Err(Error::Unknown("unknown request".into())),
        }
    }

    fn acquire(&self, id: i64, read: Instant) -> Result<Fields, Error> {
        let acquire = locked(&self.pending).get(&id).cloned().ok_or_else(unsupported)?;
        let (mut grant, sent) = match (&self.worker.acquire, &self.worker.try_acquire) {
            (Some(wait), _) => (wait(&self.lock, &acquire)?, None),
            (_, Some(attempt)) => self.poll(&acquire, attempt, read)?,
            _ => return Err(unsupported()),
        };
        let mut holds = locked(&self.holds);
        if grant.depth == 0 && self.worker.capabilities.iter().any(|c| c == "reentrant") {
            grant.depth = 1 + holds.depth(&acquire.owner, &acquire.key);
        }
        let validity = match grant.validity {
            Validity::Lease => nanos(acquire.ttl),
            Validity::For(time) => nanos(time),
            Validity::NoEnd => Json::Int(-1),
            Validity::Unknown => Json::Int(0),
        };
        let token = grant.token.clone().unwrap_or_else(|| acquire.token.clone());
        let mut fields = vec![
            ("token".into(), token.as_str().into()),
            ("fence".into(), Json::Int(grant.fence.into())),
            ("depth".into(), Json::Int(grant.depth as i128)),
            ("validity_ns".into(), validity),
        ];
        fields.extend(sent.map(|sent| ("sent_after_ns".into(), nanos(sent))));
        let (key, owner) = (acquire.key.clone(), acquire.owner.clone());
        holds.add(id, Hold { key, owner, token, ttl: acquire.ttl, grant: Some(grant) });
        Ok(fields)
    }

    /// Repeats tries until a grant, the timeout or a cancel request. It returns the grant and the time of the granted
    /// try.
    fn poll(
        &self,
        acquire: &Acquire,
        attempt: &crate::Function<S, Acquire, Grant<H>>,
        read: Instant,
    ) -> Result<(Grant<H>, Option<Duration>), Error> {
        loop {
            let sent = read.elapsed();
            match attempt(&self.lock, acquire) {
                Err(Error::Busy) => {}
                result => return Ok((result?, Some(sent))),
            }
            let left = acquire.wait.saturating_sub(read.elapsed());
            if left.is_zero() || !acquire.pause(left.min(self.worker.backoff)) {
                return Err(Error::Busy);
            }
        }
    }

    fn hold_of(&self, request: &Json) -> Arc<Hold<H>> {
        let known = locked(&self.holds).find(request.number("hold"));
        known.unwrap_or_else(|| {
            Arc::new(Hold {
                key: self.prefix.clone() + &request.text("key"),
                owner: request.text("owner"),
                token: request.text("token"),
                ttl: millis(request.number("validity_ns") / 1_000_000),
                grant: None,
            })
        })
    }

    /// Writes the notices of a hold. A notice names the outermost hold, so the notices of nested holds are dropped.
    fn report(&self, id: i64, read: Instant, hold: &Hold<H>) {
        let Some(grant) = hold.grant.as_ref().filter(|grant| grant.depth <= 1) else { return };
        let out = self.out.clone();
        grant.notices.replied(Box::new(move |notice: &Notice| {
            let elapsed = nanos(notice.time.saturating_duration_since(read));
            let (subject, id) = (if notice.renewed.is_some() { "renewed" } else { "lost" }, Json::Int(id.into()));
            let mut fields: Fields = vec![(subject.into(), id), ("elapsed_ns".into(), elapsed)];
            if let Some(validity) = notice.renewed {
                fields.extend([("ok".into(), true.into()), ("validity_ns".into(), nanos(validity))]);
            }
            out.write(Json::Object(fields));
        }));
    }

    fn reply(&self, id: i64, result: Result<Fields, Error>) {
        let mut line: Fields = vec![("id".into(), Json::Int(id.into()))];
        match result {
            Ok(fields) => {
                line.push(("ok".into(), true.into()));
                line.extend(fields);
            }
            Err(Error::Busy) => line.push(("refused".into(), "busy".into())),
            Err(Error::NotHeld) => line.push(("refused".into(), "not held".into())),
            Err(Error::Stale) => line.push(("refused".into(), "stale".into())),
            Err(Error::Unknown(why)) => line.push(("error".into(), redacted(&why, &self.secret).into())),
        }
        self.out.write(Json::Object(line));
    }
}

fn object<const N: usize>(fields: [(&str, Json); N]) -> Json {
    Json::Object(fields.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
}

fn unsupported() -> Error {
    Error::Unknown("this lock does not support that".into())
}

fn nanos(time: Duration) -> Json {
    Json::Int(time.as_nanos() as i128)
}

/// Returns a message without the passwords in URLs and without the secret, cut to the maximum length of an error.
fn redacted(text: &str, secret: &str) -> String {
    let text = if secret.is_empty() { text.to_string() } else { text.replace(secret, "<resource>") };
    let words = text.split(' ').map(|word| match (word.find("://"), word.rfind('@')) {
        (Some(from), Some(to)) if from < to => format!("{}{}", &word[..from + 3], &word[to + 1..]),
        _ => word.to_string(),
    });
    words.collect::<Vec<_>>().join(" ").chars().take(MAX_ERROR).collect()
}
