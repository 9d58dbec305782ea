//! A worker for the tests of the library: a lock in memory, whose behaviour depends on the key.
use std::collections::HashMap;
use std::sync::{mpsc, Mutex};
use std::thread;
use std::time::Duration;

use lockbench_worker::{Acquire, Error, Grant, Stored, Worker};

type Lock = Mutex<HashMap<String, String>>;

fn main() {
    let worker = Worker::new("scripted", |_| Ok(Lock::default()))
        .doc("a \"lock\" in memory")
        .store("none")
        .declare(&["reentrant", "lost"])
        .expect("progress", "unspecified", "", "counter", "a test")
        .release(|lock, hold| {
            let removed = lock.lock().unwrap().remove(hold.handle()?);
            (removed.is_some() || hold.key.ends_with("sticky")).then_some(()).ok_or(Error::NotHeld)
        })
        .renew(|_, _| Ok(Duration::from_secs(7)))
        .probe(|lock, key| Ok(lock.lock().unwrap().get(key).map(|token| Stored { token: token.clone(), left: None })));
    if std::env::args().len() > 1 {
        worker.declare(&["cancel"]).acquire(waits).run()
    }
    worker.try_acquire(try_acquire).run()
}

fn waits(_: &Lock, request: &Acquire) -> Result<Grant<String>, Error> {
    if request.wait.is_zero() {
        return Err(Error::Busy);
    }
    let (cancel, cancelled) = mpsc::channel();
    request.on_cancel(move || drop(cancel.send(())));
    Err(Error::Unknown(if cancelled.recv_timeout(request.wait).is_ok() { "cancelled" } else { "waited" }.into()))
}

fn try_acquire(lock: &Lock, request: &Acquire) -> Result<Grant<String>, Error> {
    let key = &request.key;
    if key.ends_with("loud") {
        println!("this is loud");
    }
    if key.ends_with("fails") {
        return Err(Error::Unknown("dial redis://user:secret@host/0 ".to_string() + &"x".repeat(1 << 20)));
    }
    if *lock.lock().unwrap().entry(key.clone()).or_insert(request.owner.clone()) != request.owner {
        return Err(Error::Busy);
    }
    let grant = Grant::new(key.clone());
    let notices = grant.notices();
    if key.ends_with("early") {
        notices.renewed(Duration::from_secs(5));
    }
    if key.ends_with("loses") {
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            notices.lost();
            notices.lost();
        });
    }
    Ok(grant)
}
