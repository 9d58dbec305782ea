//! A worker for rslock, which implements RedLock.
use lockbench_worker::{Error, Grant, Validity, Worker};
use rslock::{LockError, LockManager};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

struct Client {
    manager: &'static LockManager, // never freed, because each lock borrows the manager
    runtime: Runtime,
}

/// A duration in the type that the version of rslock expects: milliseconds, or a Duration.
trait Time {
    fn of(duration: Duration) -> Self;
}

#[rustfmt::skip]
impl Time for u32 { fn of(duration: Duration) -> Self { duration.as_millis() as u32 } }
#[rustfmt::skip]
impl Time for usize { fn of(duration: Duration) -> Self { duration.as_millis() as usize } }
#[rustfmt::skip]
impl Time for Duration { fn of(duration: Duration) -> Self { duration } }

fn main() {
    Worker::<Client, _>::new("rslock", |env| {
        let mut manager = LockManager::new(env.nodes.clone());
        manager.set_retry(1, Time::of(Duration::from_millis(1))); // one try, because the worker repeats tries
        Ok(Client { manager: Box::leak(Box::new(manager)), runtime: Builder::new_current_thread().enable_all().build()? })
    })
    .try_acquire(|client, request| {
        match client.runtime.block_on(client.manager.lock(request.key.as_bytes(), Time::of(request.ttl))) {
            Ok(lock) => {
                let validity = Duration::from_millis((lock.validity_time as u64).min(3_600_000)); // at most an hour, because the library's value may overflow
                Ok(Grant::new(lock).validity(Validity::For(validity)))
            }
            Err(LockError::Unavailable) => Err(Error::Busy), // the library returns this also if a server did not answer
            Err(e) => Err(Error::Unknown(format!("{e:?}"))),
        }
    })
    .release(|client, hold| {
        client.runtime.block_on(client.manager.unlock(hold.handle()?));
        Ok(())
    })
    .expect("owner-release", "unspecified", "", "misuse", "a release reports nothing")
    .run()
}
